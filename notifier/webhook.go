// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// webhook posts the body to a URL.
//
// Each attempt has a connection of its own: on a kept one net/http repeats a request with an Idempotency-Key by itself, and a
// connection that the receiver closed meanwhile cannot be told from a lost answer. It speaks HTTP/1.1, follows no redirect
// (which could lead anywhere) and takes no proxy from the environment.
type webhook struct {
	url     string
	shown   string // what errors may show of it
	secrets *strings.Replacer
	signer  *standardwebhooks.Webhook // nil: not signed
	client  *http.Client
	agent   string
}

func newWebhook(cc ChannelConfig, version string) (*webhook, error) {
	u, err := url.Parse(cc.URL) // its error shows the URL, which may be a secret
	switch {
	case cc.URL == "":
		return nil, errors.New("url is missing; a webhook needs one like https://alerts.example.com/hook")
	case err != nil || u.Hostname() == "":
		return nil, errors.New("url must be like https://alerts.example.com/hook")
	case len(cc.URL) > 2048:
		return nil, errors.New("url must have at most 2048 bytes")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("url must start with https://")
	case u.Scheme == "http" && !loopback(u.Hostname()) && !cc.Insecure:
		return nil, errors.New("url must start with https://; http:// is for loopback, elsewhere only with insecure = true")
	}
	w := &webhook{url: cc.URL, shown: u.Scheme + "://" + u.Host, secrets: secretsOf(u), agent: "picket/" + version}
	if cc.Secret != nil {
		if len(cc.Secret) == 0 {
			return nil, errors.New("the secret is empty")
		}
		if w.signer, err = standardwebhooks.NewWebhookRaw(cc.Secret); err != nil {
			return nil, errors.New("the secret cannot be used to sign")
		}
	}
	timeout := cmp.Or(cc.Timeout, DefaultTimeout)
	w.client = &http.Client{
		Transport: &http.Transport{
			// net/http goes on with both after the request was given up, so they need ends of their own.
			DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
			TLSHandshakeTimeout:    timeout,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 16 << 10,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// secretsOf blanks the parts of a URL that may be secrets, in case a receiver's answer or an error repeats them.
func secretsOf(u *url.URL) *strings.Replacer {
	parts := []string{u.String(), u.RequestURI(), u.Path}
	if password, ok := u.User.Password(); ok {
		parts = append(parts, password, u.User.Username())
	}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	parts = append(parts, strings.Split(u.Path, "/")...)
	parts = slices.DeleteFunc(parts, func(s string) bool { return len(s) < 6 })
	slices.SortFunc(parts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest one that fits
	var pairs []string
	for _, s := range parts {
		pairs = append(pairs, s, "[secret]")
	}
	return strings.NewReplacer(pairs...)
}

func (w *webhook) Render(m Message) ([]byte, error) { return renderJSON(m) }

func (w *webhook) Send(ctx context.Context, d Delivery) Result {
	var begun atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { begun.Store(true) },
	})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, w.url, bytes.NewReader(d.Body))
	if err != nil {
		return unanswered(false, "cannot make a request to "+w.shown)
	}
	now := time.Now()
	if err := w.head(req.Header, d, now); err != nil {
		return unanswered(false, err.Error())
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return unanswered(begun.Load(), w.reason(ctx, err, begun.Load()))
	}
	defer resp.Body.Close()
	var answer []byte
	if resp.StatusCode >= 300 { // of a good answer nothing more is wanted, so it need not be waited for
		answer, _ = io.ReadAll(io.LimitReader(resp.Body, maxError))
	}
	return answered(resp.StatusCode, resp.Header, w.shown, w.secrets.Replace(string(answer)), now)
}

func (w *webhook) head(h http.Header, d Delivery, now time.Time) error {
	id := webhookID(d.Key)
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", w.agent)
	h.Set("Idempotency-Key", `"`+d.Key+`"`)
	h.Set(standardwebhooks.HeaderWebhookID, id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if w.signer == nil {
		return nil
	}
	signature, err := w.signer.Sign(id, now, d.Body)
	if err != nil {
		return errors.New("cannot sign the notification")
	}
	h.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}

// webhookID is msg_ and the first half of the key's SHA-256 in hex: the same for a key on every attempt and from every host,
// and without the dots that part a signature's text.
func webhookID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// reason is why there was no answer. What net/http says begins with the URL, which is cut.
func (w *webhook) reason(ctx context.Context, err error, begun bool) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	what := "cannot reach "
	if begun {
		what = "no answer from "
	}
	return fmt.Sprintf("%s%s: %s", what, w.shown, w.secrets.Replace(err.Error()))
}
