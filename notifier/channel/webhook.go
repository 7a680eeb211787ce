// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// webhook posts the message as JSON, signed if there is a secret.
type webhook struct {
	poster
	signer *standardwebhooks.Webhook // nil: not signed
}

var webhookKind = kind{
	name: "webhook", keys: append(slices.Clone(urlKeys), "secret_file"), open: openWebhook,
	workers: 64, // a program reads it: with fewer, the fsyncs between two attempts set the pace
}

func openWebhook(o *opening) Sender {
	var key []byte
	text := o.secret("secret_file", o.SecretFile, func(s string) (err error) {
		if key, err = parseSecret([]byte(s)); err != nil {
			return fmt.Errorf("cannot use %s: %w", o.SecretFile, err)
		}
		return nil
	})
	w := &webhook{poster: newPoster(o, text, string(key), strings.TrimPrefix(text, secretPrefix))}
	if key != nil {
		signer, err := standardwebhooks.NewWebhookRaw(key)
		o.Demand(err == nil, "secret_file", "cannot be used to sign")
		w.signer = signer
	}
	return w
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
