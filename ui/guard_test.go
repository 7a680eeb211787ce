// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1.example.com:0", "[fe80::1%lo]:0"} {
		ln, err := Listen(address)
		if err == nil {
			ln.Close()
			t.Errorf("it listens on %s", address)
		} else if !strings.Contains(err.Error(), "ssh -L") {
			t.Errorf("%s: it does not say what would be right: %v", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "127.8.8.8:0"} {
		ln, err := Listen(address)
		must(t, err)
		if !ln.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("%s: it listens on %s", address, ln.Addr())
		}
		ln.Close()
	}
	if _, err := Listen("127.0.0.1"); err == nil || !strings.Contains(err.Error(), "HOST:PORT") {
		t.Errorf("without a port: %v", err)
	}
}

// request makes a request of the browser's with some headers; Host is one of them.
func (l *look) request(method, path string, body string, header map[string]string) *http.Response {
	l.Helper()
	req, err := http.NewRequest(method, l.root+path, strings.NewReader(body))
	must(l.T, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	once := *l.browser
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := once.Do(req)
	must(l.T, err)
	resp.Body.Close()
	return resp
}

// A name that an attacker binds to 127.0.0.1 lets nobody in, with the cookie or the secret.
func TestHostMustBeOfLoopback(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.browser.Jar = nil // which has no cookie for other names
	for host, want := range map[string]int{
		"evil.example": 403, "evil.example:80": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403, "10.0.0.1": 403, "": 200,
		"localhost:9999": 200, "127.0.0.1": 200, "[::1]:8080": 200, "localhost": 200,
	} {
		header := map[string]string{"Host": host, "Cookie": l.server.cookie + "=" + l.server.session}
		if host == "" {
			delete(header, "Host")
		}
		if resp := l.request("GET", "/tasks", "", header); resp.StatusCode != want {
			t.Errorf("Host %q: %d, want %d", host, resp.StatusCode, want)
		}
		if resp := l.request("GET", "/?secret="+l.server.secret, "", header); want == 403 && resp.StatusCode != want {
			t.Errorf("Host %q with the secret: %d, want %d", host, resp.StatusCode, want)
		}
	}
}

func TestTheFirstAddressBecomesACookie(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.browser.Jar = nil
	if address := l.server.Address(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}); address != "http://127.0.0.1:80/?secret="+l.server.secret {
		t.Errorf("the address is %s", address)
	}
	resp := l.request("GET", "/?secret="+l.server.secret, "", nil)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" {
		t.Errorf("it answers %d, and leads to %q", resp.StatusCode, resp.Header.Get("Location"))
	}
	cookies := resp.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].MaxAge != 0 || cookies[0].Domain != "" {
		t.Fatalf("the cookie is %v", cookies)
	}
	if len(l.server.secret) < 26 || l.server.session == l.server.secret { // 26 characters of base 32 are 130 bits
		t.Error("the secret is short, or is the cookie")
	}
	for _, secret := range []string{"", "x", l.server.secret + "x", l.server.secret[1:], strings.ToLower(l.server.secret), l.server.session} {
		if resp := l.request("GET", "/?secret="+secret, "", nil); resp.StatusCode != http.StatusForbidden || len(resp.Cookies()) > 0 {
			t.Errorf("secret %q: %d, %v", secret, resp.StatusCode, resp.Cookies())
		}
	}
	if resp := l.request("POST", "/?secret="+l.server.secret, "", nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a POST with the secret: %d", resp.StatusCode)
	}
}

func TestWithoutTheCookieNothingIsShown(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.browser.Jar = nil
	for _, cookie := range []string{"", l.server.cookie + "=", l.server.cookie + "=x", l.server.cookie + "=" + l.server.secret, "x=" + l.server.session} {
		for _, path := range []string{"/", "/tasks", "/tickets", "/ticket?asset=a&task=t", "/waiting", "/claims", "/reports", "/act", "/style.css", "/page.js", "/nowhere"} {
			if resp := l.request("GET", path, "", map[string]string{"Cookie": cookie}); resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s with cookie %q: %d", path, cookie, resp.StatusCode)
			}
		}
	}
	if resp := l.request("GET", "/tasks", "", map[string]string{"Cookie": l.server.cookie + "=" + l.server.session}); resp.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: %d", resp.StatusCode)
	}
}

// A form counts that is of this server's own pages: its origin, as far as the browser tells it, and its token.
func TestFormsMustBeOwn(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.fake.set("/v1/locks/a/break", struct{}{})
	right := url.Values{tokenName: {l.server.token}, "reason": {"why"}}.Encode()
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		want   int
	}{
		"own":                      {right, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": l.root}, 303},
		"own, origin not told":     {right, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303},
		"own, nothing told":        {right, nil, 303},
		"no token":                 {"reason=why", map[string]string{"Sec-Fetch-Site": "same-origin"}, 403},
		"empty token":              {"token=&reason=why", nil, 403},
		"wrong token":              {"token=" + l.server.session + "&reason=why", nil, 403},
		"another site":             {right, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another port of loopback": {right, map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"another origin":           {right, map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"another origin, lying":    {right, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"}, 403},
		"hidden origin":            {right, map[string]string{"Origin": "null"}, 403},
	} {
		before := len(l.fake.posted)
		resp := l.request("POST", "/act?do=break&asset=a", c.body, c.header)
		if resp.StatusCode != c.want || (len(l.fake.posted) > before) != (c.want == 303) {
			t.Errorf("%s: %d, want %d; posted: %v", name, resp.StatusCode, c.want, l.fake.posted[before:])
		}
	}
	if resp := l.request("GET", "/act?do=break&asset=a&"+right, "", nil); resp.StatusCode != http.StatusOK || len(l.fake.posted) != 3 {
		t.Errorf("a GET decides: %d, %v", resp.StatusCode, l.fake.posted)
	}
}

// Every answer, a refused one too, has the headers.
func TestEveryAnswerHasTheHeaders(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	for _, resp := range []*http.Response{
		l.request("GET", "/", "", nil), l.request("GET", "/style.css", "", nil), l.request("GET", "/nowhere", "", nil),
		l.request("GET", "/", "", map[string]string{"Host": "evil.example"}), l.request("POST", "/act", "", nil), l.request("PUT", "/", "", nil),
	} {
		for name, want := range map[string]string{
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s %s: %s is %q", resp.Request.URL.Path, resp.Status, name, got)
			}
		}
		policy := resp.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy+";", part) {
				t.Errorf("%s: the policy %q lacks %q", resp.Request.URL.Path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("the policy is %q", policy)
		}
	}
	if cookies := l.request("GET", "/", "", nil).Cookies(); len(cookies) > 0 {
		t.Errorf("a page sets %v", cookies)
	}
}

func TestHeaderBodyTimeAndConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	if resp := l.request("GET", "/", "", map[string]string{"X-Long": strings.Repeat("x", 2*maxHeader)}); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a long header: %d", resp.StatusCode)
	}
	long := url.Values{tokenName: {l.server.token}, "reason": {strings.Repeat("x", maxBody)}}.Encode()
	if resp := l.request("POST", "/act?do=break&asset=a", long, nil); resp.StatusCode != http.StatusForbidden || len(l.fake.posted) > 0 {
		t.Errorf("a long body: %d, %d posted", resp.StatusCode, len(l.fake.posted))
	}

	slow := setup(t, false)
	slow.server.arrive = time.Second
	slow.serve()
	conn, err := net.Dial("tcp", strings.TrimPrefix(slow.root, "http://"))
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n") // and no more
	must(t, err)
	must(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("a request that does not arrive is waited for: %v", err)
	}

	full := setup(t, false)
	full.server.arrive = 10 * time.Minute
	full.serve()
	closed := make(chan struct{}, maxConns+8)
	for range maxConns + 8 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(full.root, "http://"))
		must(t, err)
		defer conn.Close()
		go func() {
			_, _ = conn.Read(make([]byte, 1)) // nothing is sent, so it ends with the connection
			closed <- struct{}{}
		}()
	}
	for range 8 {
		select {
		case <-closed:
		case <-time.After(time.Minute):
			t.Fatal("more connections are held open than there may be")
		}
	}
	select {
	case <-closed:
		t.Error("fewer connections are held open than there may be")
	case <-time.After(100 * time.Millisecond):
	}
}
