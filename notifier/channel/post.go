// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/outbox"
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
func newPoster(o *opening, others ...string) poster {
	o.Demand(o.URL != "" || o.URLFile != "", "url", "is missing: write it, or the file where it is as url_file")
	to := o.either("url", o.URL, o.URLFile, func(s string) error { return checkURL(s, o.Insecure) })
	proxy, hidden := through(ownProxy(o))
	u, err := url.Parse(to) // its error shows the URL, which may be a secret
	if err != nil {
		u = &url.URL{}
	}
	timeout := time.Duration(o.Timeout)
	hidden = append(hidden, others...)
	return poster{
		url: to, shown: u.Scheme + "://" + u.Host, secrets: secretsOf(to, hidden...), agent: "picket/" + cmp.Or(o.Version, "dev"),
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
	}
}

// urlKeys are those of a channel that posts.
var urlKeys = []string{"url", "url_file", "proxy", "proxy_file", "insecure"}

// checkURL says what is wrong with a URL, to follow its name in a sentence, without repeating it: it may be a secret.
func checkURL(s string, insecure bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("is not a URL for a webhook: write https://host/path")
	case len(s) > 2048:
		return errors.New("is longer than a URL of 2048 bytes")
	case u.Fragment != "":
		return errors.New("has a #fragment, which is never sent: take it away")
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		return errors.New("is http://, which anybody on the way can read: write https://, or insecure = true")
	}
	return nil
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
		limit = max(limit, MaxError+int64(p.secrets.longest())) // what is shown at most, and a secret that begins in it
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

// answered decides what an HTTP status means.
func answered(reply reply, from string, now time.Time) Result {
	code := reply.code
	r := Result{Error: WithDetail(fmt.Sprintf("HTTP %d from %s", code, from), reply.body)}
	switch {
	case code >= 200 && code < 300:
		return Result{Status: outbox.Sent}
	case code == 407, code == 408, code == 425, code == 429, code == 503:
		r.Status, r.RetryAfter = outbox.Pending, retryAfter(reply.header, now)
	case code == 409, code >= 500: // RFC 9110 section 15: what is above 599 counts as 5xx
		r.Status, r.RetryAfter, r.Doubtful = outbox.Pending, retryAfter(reply.header, now), true
	case code >= 300 && code < 400:
		r.Status = outbox.Dead
		r.Error = fmt.Sprintf("HTTP %d from %s: redirects are not followed; the channel's url must be the final one", code, from)
	default:
		r.Status = outbox.Dead
	}
	return r
}

// maxRetryAfter keeps an absurd Retry-After within what a Duration holds. GiveUp bounds it further.
const maxRetryAfter = 366 * 24 * time.Hour

// digits are seconds. RFC 9110 has whole ones; some receivers send others.
var digits = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]*)?$`)

// retryAfter reads the header of that name, in either form of RFC 9110 section 10.2.3; a part of a second counts as a whole one.
// It is 0 when there is none, or none that can be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && digits.MatchString(value) {
		return time.Duration(math.Ceil(min(seconds, maxRetryAfter.Seconds()))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
