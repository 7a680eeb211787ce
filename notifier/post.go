// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
)

// maxAnswer bounds in bytes what is read of an answer that must be understood.
const maxAnswer = 64 << 10

// poster posts to a URL.
//
// Each attempt has a connection of its own: on a kept one net/http repeats a request with an Idempotency-Key by itself, and a
// connection that the receiver closed meanwhile cannot be told from a lost answer. It speaks HTTP/1.1, follows no redirect
// (which could lead anywhere), and goes through the channel's proxy or that of the environment.
type poster struct {
	url     string
	shown   string // what errors may show of it
	secrets secrets
	client  *http.Client
	agent   string
}

// newPoster makes one that hides the URL's secrets, the proxy's, and others.
func newPoster(cc ChannelConfig, version string, others ...string) (poster, error) {
	u, err := url.Parse(cc.URL) // its error shows the URL, which may be a secret
	switch {
	case cc.URL == "":
		return poster{}, fmt.Errorf("url is missing; a %s channel needs one like https://alerts.example.com/hook", cc.Type)
	case err != nil || u.Hostname() == "":
		return poster{}, errors.New("url must be like https://alerts.example.com/hook")
	case len(cc.URL) > 2048:
		return poster{}, errors.New("url must have at most 2048 bytes")
	case u.Scheme != "https" && u.Scheme != "http":
		return poster{}, errors.New("url must start with https://")
	case u.Scheme == "http" && !loopback(u.Hostname()) && !cc.Insecure:
		return poster{}, errors.New("url must start with https://; http:// is for loopback, elsewhere only with insecure = true")
	}
	proxy, hidden, err := through(cc.Proxy)
	if err != nil {
		return poster{}, fmt.Errorf("proxy %w", err)
	}
	timeout := cmp.Or(cc.Timeout, DefaultTimeout)
	hidden = append(hidden, others...)
	return poster{
		url: cc.URL, shown: u.Scheme + "://" + u.Host, secrets: secretsOf(cc.URL, hidden...), agent: "picket/" + version,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: proxy,
				// net/http goes on with both after the request was given up, so they need ends of their own.
				DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
				TLSHandshakeTimeout:    timeout,
				DisableKeepAlives:      true,
				DisableCompression:     true,
				MaxResponseHeaderBytes: 16 << 10,
				TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reply is an HTTP answer.
type reply struct {
	code   int
	header http.Header
	raw    []byte
	body   string              // raw without secrets
	hide   func(string) string // takes secrets out
}

// post makes one attempt. failed is set when there is no answer. Of an answer's body at most limit bytes are read; when
// limit is 0, nothing of a good answer, and of another what its error may show.
func (p poster) post(ctx context.Context, to string, body []byte, head http.Header, limit int64) (r reply, failed *Result) {
	fail := func(begun bool, reason string) (reply, *Result) {
		result := unanswered(begun, reason)
		return reply{}, &result
	}
	var begun atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { begun.Store(true) },
	})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fail(false, "cannot make a request to "+p.shown)
	}
	req.Header = head
	head.Set("Content-Type", "application/json")
	head.Set("User-Agent", p.agent)
	resp, err := p.client.Do(req)
	if err != nil {
		return fail(begun.Load(), p.reason(ctx, err, begun.Load()))
	}
	defer resp.Body.Close()
	r = reply{code: resp.StatusCode, header: resp.Header, hide: p.secrets.Replace}
	if resp.StatusCode >= 300 {
		limit = max(limit, maxError+int64(p.secrets.longest())) // what is shown at most, and a secret that begins in it
	}
	if limit > 0 {
		r.raw, err = io.ReadAll(io.LimitReader(resp.Body, limit)) // half an answer is better than none
		if err == nil && int64(len(r.raw)) < limit {
			r.body = r.hide(string(r.raw))
		} else {
			r.body = p.secrets.hideCut(string(r.raw))
		}
	}
	return r, nil
}

// reason is why there was no answer. What net/http says begins with the URL, which is cut.
func (p poster) reason(ctx context.Context, err error, begun bool) string {
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
	return fmt.Sprintf("%s%s: %s", what, p.shown, p.secrets.Replace(err.Error()))
}
