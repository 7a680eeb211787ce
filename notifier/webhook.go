// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// webhook posts the message as JSON, signed if there is a secret.
type webhook struct {
	poster
	signer *standardwebhooks.Webhook // nil: not signed
}

func newWebhook(cc ChannelConfig, version string) (*webhook, error) {
	var hidden []string
	if cc.Secret != nil {
		hidden = []string{string(cc.Secret), secretPrefix + base64.StdEncoding.EncodeToString(cc.Secret)}
	}
	p, err := newPoster(cc, version, hidden...)
	if err != nil {
		return nil, err
	}
	w := &webhook{poster: p}
	if cc.Secret != nil {
		if len(cc.Secret) == 0 {
			return nil, errors.New("the secret is empty")
		}
		if w.signer, err = standardwebhooks.NewWebhookRaw(cc.Secret); err != nil {
			return nil, errors.New("the secret cannot be used to sign")
		}
	}
	return w, nil
}

func (w *webhook) Render(m Message) ([]byte, error) { return renderJSON(m) }

func (w *webhook) Send(ctx context.Context, d Delivery) Result {
	now := time.Now()
	head := keyed(d.Key)
	head.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if w.signer != nil {
		signature, err := w.signer.Sign(webhookID(d.Key), now, d.Body)
		if err != nil {
			return unanswered(false, "cannot sign the notification")
		}
		head.Set(standardwebhooks.HeaderWebhookSignature, signature)
	}
	r, failed := w.post(ctx, w.url, d.Body, head, 0) // a good answer's body says nothing more, so it need not be waited for
	if failed != nil {
		return *failed
	}
	return answered(r, w.shown, now)
}

// keyed is a header by which a receiver recognises what it has seen.
func keyed(key string) http.Header {
	h := http.Header{}
	h.Set("Idempotency-Key", `"`+key+`"`)
	h.Set(standardwebhooks.HeaderWebhookID, webhookID(key))
	return h
}

// webhookID is msg_ and the first half of the key's SHA-256 in hex: the same for a key on every attempt and from every host,
// and without the dots that part a signature's text.
func webhookID(key string) string { return "msg_" + digest(key)[:32] }

// shortID is what people recognise a notification by, when it reached them twice: the digits of its webhook-id. Fewer could be made to
// agree with another notification's by whoever chooses assets and tasks.
func shortID(key string) string { return digest(key)[:32] }

func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
