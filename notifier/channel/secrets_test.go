// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What a receiver repeats of a secret is not shown, however it writes it.
func TestNoSecretInAnotherForm(t *testing.T) {
	t.Parallel()
	const secret = `Ab+/3"cd&9=Zz~Gh1\2kLmN`
	s := blank(secret)
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"as it is": secret, "in small letters": strings.ToLower(secret), "in capitals": strings.ToUpper(secret),
		"quoted": fmt.Sprintf("%q", secret), "as JSON": string(quoted), "as JSON with slashes": strings.ReplaceAll(string(quoted), "/", `\/`),
		"in a query": url.QueryEscape(secret), "in a query, small": strings.ToLower(url.QueryEscape(secret)), "in a path": url.PathEscape(secret),
		"escaped twice": url.QueryEscape(url.QueryEscape(secret)), "in HTML": html.EscapeString(secret), "in hex": fmt.Sprintf("%X", secret),
		"its beginning": secret[:12], "its end": secret[8:], "its middle": secret[5:16],
	}
	for before := range 4 {
		for after := range 3 {
			text := []byte("user"[:before] + secret + "end"[:after])
			forms[fmt.Sprintf("in base64 %d %d", before, after)] = base64.StdEncoding.EncodeToString(text)
			forms[fmt.Sprintf("in base64url %d %d", before, after)] = base64.RawURLEncoding.EncodeToString(text)
		}
	}
	for name, form := range forms {
		got := s.Replace("no, " + form + " is wrong")
		left := strings.TrimSuffix(strings.TrimPrefix(got, "no, "), " is wrong")
		if !strings.Contains(left, hidden) || len(strings.ReplaceAll(left, hidden, "")) > 2*piece {
			t.Errorf("%s, %s, is shown as %s", name, form, got)
		}
	}
	if got := s.Replace("an honest answer, with 13 words"); got != "an honest answer, with 13 words" {
		t.Errorf("got %s", got)
	}
}

// A receiver that says in its error what it was sent, as proxies, debug pages and gateways do.
func TestNoSecretOfAURLThatAReceiverRepeats(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "denied: "+r.Header.Get("Authorization")+" "+r.URL.RawQuery+" "+r.URL.Query().Get("key"))
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for to, parts := range map[string][]string{
		"http://hook:correct-horse-battery@" + host + "/x":         {"correct", base64.StdEncoding.EncodeToString([]byte("hook:correct-horse-battery"))},
		"http://s3cr3t-token-as-user@" + host + "/x":               {"s3cr3t", base64.StdEncoding.EncodeToString([]byte("s3cr3t-token-as-user:"))},
		"http://hook:pw123@" + host + "/x":                         {base64.StdEncoding.EncodeToString([]byte("hook:pw123"))},
		"http://" + host + "/x?key=abc%2Bdef%2Fghi%3D%3D&z=1":      {"abc%2Bdef", "abc+def"},
		"http://" + host + "/x?key=abcdefghijkl&z=1":               {"abcdefgh"},
		"http://" + host + "/x?key=%e5%af%86%e7%a0%81%e5%af%86&z1": {"密码", "%e5%af%86"},
	} {
		r := post(t, hook(t, to))
		for _, part := range parts {
			if !strings.Contains(r.Error, "denied: ") || strings.Contains(r.Error, part) {
				t.Errorf("of %s it shows %s: %s", to, part, r.Error)
			}
		}
	}
}
