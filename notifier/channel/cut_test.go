// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// No part of a secret is shown where an answer is cut: by what is kept of it, by what is read of it, or by a connection's end.
func TestNoSecretAtTheCutOfAnAnswer(t *testing.T) {
	t.Parallel()
	const secret, shown = "hunter2hunter2hunter2", 8 // as many bytes of it are too many
	at := func(t *testing.T, kind string, answer http.HandlerFunc) Result {
		server := httptest.NewServer(answer)
		defer server.Close()
		if url := server.URL + "/" + secret; kind == "webhook" {
			return post(t, hook(t, url))
		}
		r := aRobot(t, kind, func(cc *Config) { cc.URL = server.URL + "/" + secret })
		return sendTo(t, r, time.Minute)
	}
	for _, kind := range []string{"webhook", "slack", "wecom"} {
		for from := MaxError - len(secret) - 40; from <= MaxError; from += 5 {
			for _, broken := range []int{0, shown, len(secret) - 1} {
				r := at(t, kind, func(w http.ResponseWriter, _ *http.Request) {
					text := strings.Repeat("x", from) + secret + secret
					if broken > 0 {
						w.Header().Set("Content-Length", strconv.Itoa(len(text)))
						text = text[:from+broken]
					}
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = io.WriteString(w, text)
				})
				if strings.Contains(r.Error, secret[:shown]) || !strings.Contains(r.Error, "xxx") {
					t.Errorf("%s, %d bytes before it, broken after %d: %s", kind, from, broken, r.Error)
				}
			}
		}
	}
	for from := maxAnswer - len(secret) + 1; from < maxAnswer; from += 5 {
		r := at(t, "wecom", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, strings.Repeat(" ", from)+secret)
		})
		if strings.Contains(r.Error, secret[:4]) {
			t.Errorf("%d bytes before it: %s", from, r.Error)
		}
	}
}
