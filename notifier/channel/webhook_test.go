// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/outbox"
)

func hook(t *testing.T, url string, change ...func(*Config)) *webhook {
	t.Helper()
	return made(t, Config{Name: "ops", Type: "webhook", URL: url}, change...).(*webhook)
}

// post makes one attempt that has time.
func post(t *testing.T, w *webhook) Result {
	t.Helper()
	return postWithin(w, time.Minute)
}

func postWithin(w *webhook, timeout time.Duration) Result {
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, errors.New("the time-out is over"))
	defer cancel()
	return w.Send(ctx, Delivery{Key: "web-01/w48~2", Body: []byte(`{"a":1}`)})
}

func TestEveryStatus(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var code int
		fmt.Sscan(r.URL.Query().Get("code"), &code)
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
	}))
	defer server.Close()
	for code := 200; code < 1000; code++ {
		want := Result{Status: outbox.Dead}
		switch {
		case code < 300:
			want.Status = outbox.Sent
		case code == 407, code == 408, code == 425, code == 429, code == 503:
			want = Result{Status: outbox.Pending, RetryAfter: 7 * time.Second}
		case code == 409, code >= 500:
			want = Result{Status: outbox.Pending, RetryAfter: 7 * time.Second, Doubtful: true}
		}
		got := post(t, hook(t, fmt.Sprintf("%s/?code=%d", server.URL, code)))
		if (got.Error == "") != (want.Status == outbox.Sent) || want.Status != outbox.Sent && !strings.Contains(got.Error, fmt.Sprint(code)) {
			t.Errorf("%d says %q", code, got.Error)
		}
		got.Error = ""
		if got != want {
			t.Errorf("%d is %+v, want %+v", code, got, want)
		}
	}
}

// raw answers each connection by hand.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
			c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

func read(c net.Conn) { _, _ = c.Read(make([]byte, 64<<10)) }

// trickle writes a byte at a time for ever.
func trickle(c net.Conn) {
	for {
		if _, err := c.Write([]byte("x")); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestKindsOfFailure(t *testing.T) {
	t.Parallel()
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the refused handshake
	secure.StartTLS()
	t.Cleanup(secure.Close)

	tests := []struct {
		name, url string
		hangs     bool // ends with the time-out only
		want      outbox.Status
		says      string
	}{
		{"connection refused", "http://" + refused.Addr().String(), false, outbox.Pending, "cannot reach http://" + refused.Addr().String()},
		{"no such name", "https://nothing.invalid/", true, outbox.Pending, "cannot reach https://nothing.invalid"},
		{"not TLS", strings.Replace(plain.URL, "http:", "https:", 1), false, outbox.Pending, "cannot reach"},
		{"a certificate of nobody", secure.URL, false, outbox.Pending, "certificate"},
		{"a handshake that hangs", strings.Replace(raw(t, func(c net.Conn) { read(c); read(c) }), "http:", "https:", 1), true, outbox.Pending, "cannot reach"},
		{"closed before the answer", raw(t, read), false, outbox.Unknown, "no answer"},
		{"no answer in time", raw(t, func(c net.Conn) { read(c); read(c) }), true, outbox.Unknown, "the time-out is over"},
		{"a byte at a time", raw(t, func(c net.Conn) { read(c); trickle(c) }), true, outbox.Unknown, ""},
		{"a header without end", raw(t, func(c net.Conn) {
			read(c)
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nX-A: ")
			_, _ = io.CopyN(c, neverEnds{}, 1<<20)
		}), false, outbox.Unknown, ""},
		{"a good answer whose body never ends", raw(t, func(c net.Conn) {
			read(c)
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
			trickle(c)
		}), false, outbox.Sent, ""},
		{"a bad answer whose body never ends", raw(t, func(c net.Conn) {
			read(c)
			fmt.Fprint(c, "HTTP/1.1 500 Oh\r\nContent-Length: 1000000\r\n\r\nso bad ")
			read(c)
		}), true, outbox.Pending, "so bad"},
		{"a large bad answer", raw(t, func(c net.Conn) {
			read(c)
			fmt.Fprint(c, "HTTP/1.1 400 Bad\r\nContent-Length: 1048576\r\n\r\n")
			_, _ = io.CopyN(c, neverEnds{}, 1<<20)
		}), false, outbox.Dead, "HTTP 400"},
		{"another protocol", raw(t, func(c net.Conn) { read(c); fmt.Fprint(c, "SSH-2.0-x\r\n") }), false, outbox.Unknown, ""},
		{"switching protocols", raw(t, func(c net.Conn) {
			read(c)
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
		}), false, outbox.Dead, "HTTP 101"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if tt.hangs {
				timeout = 6 * time.Second
			}
			w := hook(t, tt.url, func(cc *Config) { cc.Timeout = strict.Duration(timeout) })
			if got := postWithin(w, timeout); got.Status != tt.want || !strings.Contains(got.Error, tt.says) {
				t.Errorf("%+v, want %s, %q", got, tt.want, tt.says)
			}
		})
	}
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

func TestRequestIsAsDocumented(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef01234567")
	requests := make(chan *http.Request, 2)
	bodies := make(chan []byte, 2)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- r
		bodies <- body
	}))
	defer server.Close()
	w := hook(t, server.URL+"/hook?x=1", func(cc *Config) { cc.SecretFile = write(t, secretPrefix+base64.StdEncoding.EncodeToString(key)) })
	for range 2 {
		if r := post(t, w); r != sentResult {
			t.Fatalf("%+v", r)
		}
	}
	verifier, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		t.Fatal(err)
	}
	var ids [2]string
	for i := range ids {
		r, body := <-requests, <-bodies
		ids[i] = r.Header.Get("webhook-id")
		if err := verifier.Verify(body, r.Header); err != nil {
			t.Errorf("the signature: %v", err)
		}
		if string(body) != `{"a":1}` || r.Method != http.MethodPost || r.URL.String() != "/hook?x=1" {
			t.Errorf("%s %s with %s", r.Method, r.URL, body)
		}
		for name, want := range map[string]string{
			"Idempotency-Key": `"web-01/w48~2"`, "Content-Type": "application/json", "User-Agent": "picket/1.2.3",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
	// Other implementations make the id of the key in the same way: it must not change.
	if ids[0] != ids[1] || ids[0] != "msg_97452c795a97dcfd7131dbe895c6caa4" || webhookID("web-01/w48") == ids[0] {
		t.Errorf("ids %q", ids)
	}

	if r := post(t, hook(t, server.URL)); r != sentResult {
		t.Fatalf("%+v", r)
	}
	if r := <-requests; r.Header.Get("webhook-signature") != "" || r.Header.Get("webhook-id") != ids[0] {
		t.Errorf("without a secret: %v", r.Header)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer target.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(target.URL, code))
		r := post(t, hook(t, server.URL))
		server.Close()
		if r.Status != outbox.Dead || !strings.Contains(r.Error, "redirects are not followed") || followed.Load() {
			t.Errorf("%d: %+v, followed %v", code, r, followed.Load())
		}
	}
}

// A request that was lost on the way is never repeated inside one attempt.
func TestOneAttemptIsOneRequest(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	url := raw(t, func(c net.Conn) {
		for {
			if n, _ := c.Read(make([]byte, 64<<10)); n == 0 || requests.Add(1) > 1 {
				return
			}
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	w := hook(t, url)
	if r := post(t, w); r != sentResult {
		t.Fatalf("%+v", r)
	}
	if r := post(t, w); r.Status != outbox.Unknown || requests.Load() != 2 {
		t.Errorf("%+v after %d requests", r, requests.Load())
	}
}

func TestNoSecretInErrors(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "no hook %s, %s, token %s\x1b[31m\n\n  for you", r.URL, r.URL.Path, r.URL.Query().Get("access_token"))
	}))
	defer echo.Close()
	host := strings.TrimPrefix(echo.URL, "http://")
	refused := raw(t, func(c net.Conn) { read(c); fmt.Fprint(c, "nonsense\r\n\r\n") })
	for _, base := range []string{echo.URL, refused, "http://127.0.0.1:1"} {
		url := strings.Replace(base, "://", "://hunter2user:hunter2@", 1) + "/services/hunter2path?access_token=hunter2token"
		r := post(t, hook(t, url))
		if strings.Contains(r.Error, "hunter2") || r.Error == "" {
			t.Errorf("%s says %q", base, r.Error)
		}
		if base == echo.URL && plain.Line(r.Error, MaxError) != "HTTP 404 from http://"+host+": no hook [secret], [secret], token [secret] for you" {
			t.Errorf("%q", r.Error)
		}
	}
	for _, url := range []string{"http://hunter2.example/x", "https://a b/hunter2", ":hunter2", "ftp://x/hunter2", "https://x/%zzhunter2"} {
		if says := wrongIn(Config{Name: "ops", Type: "webhook", URL: url}); says == "" || strings.Contains(says, "hunter2") {
			t.Errorf("%s: %s", url, says)
		}
	}
}

func TestWebhookURL(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"https://alerts.example.com/hook":        "",
		"http://127.0.0.1:8080/":                 "",
		"http://127.8.0.1/":                      "",
		"http://[::1]/":                          "",
		"http://localhost/":                      "",
		"":                                       "url: is missing",
		"http://alerts.example.com/":             "insecure = true",
		"http://localhost.example.com/":          "insecure = true",
		"http://10.0.0.1/":                       "insecure = true",
		"alerts.example.com/hook":                "https://host/path",
		"https:///hook":                          "https://host/path",
		"ftp://example.com/":                     "https://",
		"https://h/" + strings.Repeat("x", 2048): "2048 bytes",
	} {
		if got := wrongIn(Config{Name: "ops", Type: "webhook", URL: url}); (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("%.60s: %s, want %q", url, got, says)
		}
	}
	if says := wrongIn(Config{Name: "ops", Type: "webhook", URL: "http://10.0.0.1/", Insecure: true}); says != "" {
		t.Error(says)
	}
}

// TestNoSigningSecretInErrors: a receiver that answers with the key it was given does not bring it into ticket and log.
func TestNoSigningSecretInErrors(t *testing.T) {
	t.Parallel()
	file := "whsec_" + base64.StdEncoding.EncodeToString([]byte("hunter2hunter2hunter2hunter2"))
	secret, err := parseSecret([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "wrong key %s, %s, %s", file, strings.TrimPrefix(file, "whsec_"), secret)
	}))
	defer echo.Close()
	w := hook(t, echo.URL, func(cc *Config) { cc.SecretFile = write(t, file) })
	if r := post(t, w); !strings.HasSuffix(r.Error, "wrong key [secret], [secret], [secret]") {
		t.Errorf("it says %q", r.Error)
	}
}
