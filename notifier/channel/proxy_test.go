// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bufio"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/picketd/picket/outbox"
)

const proxyLogin = "hook:correct-horse-battery"

// aProxy refuses to connect further, with what it was given, and takes what is sent to http://.
func aProxy(t *testing.T) (addr string, got <-chan *http.Request) {
	t.Helper()
	seen := make(chan *http.Request, 8)
	url := raw(t, func(c net.Conn) {
		defer c.Close()
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		seen <- r
		if r.Method == http.MethodConnect {
			_, _ = io.WriteString(c, "HTTP/1.1 403 not with "+r.Header.Get("Proxy-Authorization")+"\r\nContent-Length: 0\r\n\r\n")
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	return strings.TrimPrefix(url, "http://"), seen
}

func TestAChannelsProxy(t *testing.T) {
	t.Parallel()
	addr, got := aProxy(t)
	to := func(url, proxy string) Result {
		file := write(t, proxy)
		return post(t, hook(t, url, func(cc *Config) { cc.ProxyFile, cc.Insecure = file, true }))
	}
	r := to("https://alerts.example.com/hook", "http://"+proxyLogin+"@"+addr)
	if request := <-got; request.Method != http.MethodConnect || request.Host != "alerts.example.com:443" {
		t.Errorf("the proxy got %s %s", request.Method, request.Host)
	}
	if r.Status != outbox.Pending || !strings.Contains(r.Error, "not with") || strings.Contains(r.Error, "horse") ||
		strings.Contains(r.Error, base64.StdEncoding.EncodeToString([]byte(proxyLogin))) {
		t.Errorf("refused by the proxy it is %+v", r)
	}
	if r := to("http://alerts.example.com/hook", "http://"+addr); r != sentResult {
		t.Errorf("through the proxy it is %+v", r)
	}
	if request := <-got; request.URL.String() != "http://alerts.example.com/hook" {
		t.Errorf("the proxy got %s", request.URL)
	}
	for _, bad := range []string{"proxy.example.com:3128", "ftp://proxy.example.com", "http://", "http://proxy.example.com/path", "\x00"} {
		if says := wrongIn(Config{Name: "ops", Type: "webhook", URL: "https://alerts.example.com/", Proxy: bad}); says == "" || strings.Contains(says, "example.com/path") {
			t.Errorf("%q as a proxy: %s", bad, says)
		}
	}
}

// The environment is read once in a process, so this goes on in another.
func TestTheProxyOfTheEnvironment(t *testing.T) {
	if os.Getenv("PICKET_TEST_PROXY") != "" {
		for proxy, want := range map[string]string{"": "not with", Direct: "cannot reach https://alerts.invalid"} {
			r := post(t, hook(t, "https://alerts.invalid/hook", func(cc *Config) { cc.Proxy = proxy }))
			if r.Status != outbox.Pending || !strings.Contains(r.Error, want) || proxy == Direct && strings.Contains(r.Error, "not with") || strings.Contains(r.Error, "horse") ||
				strings.Contains(r.Error, base64.StdEncoding.EncodeToString([]byte(proxyLogin))) {
				t.Errorf("with proxy %q it is %+v", proxy, r)
			}
		}
		return
	}
	t.Parallel()
	addr, _ := aProxy(t)
	child := exec.Command(os.Args[0], "-test.run=^TestTheProxyOfTheEnvironment$")
	child.Env = append(os.Environ(), "PICKET_TEST_PROXY=1", "HTTPS_PROXY=http://"+proxyLogin+"@"+addr, "NO_PROXY=")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
