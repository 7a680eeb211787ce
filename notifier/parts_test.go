// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"bytes"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/picketd/picket/outbox"
)

func TestBackoffDoublesWithJitterUpToItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		full := min(time.Second<<min(n-1, 20), 5*time.Minute)
		if d := backoff(n, time.Second, 5*time.Minute); d < full/2 || d > full {
			t.Fatalf("after try %d: %v", n, d)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"120":                            2 * time.Minute,
		" 5 ":                            5 * time.Second,
		"-1":                             0,
		"1.5":                            0,
		"soon":                           0,
		"99999999999999999999":           0,
		"9999999999999":                  maxRetryAfter,
		"Sun, 29 Nov 2026 08:01:00 GMT":  time.Minute,
		"Sunday, 29-Nov-26 08:01:00 GMT": time.Minute,
		"Sun Nov 29 08:01:00 2026":       time.Minute,
		"Sun, 29 Nov 2026 07:00:00 GMT":  0,
		"Sun, 29 Nov 9026 07:00:00 GMT":  maxRetryAfter,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
	if got := retryAfter(nil, now); got != 0 {
		t.Errorf("none is %v", got)
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	key := []byte("\xfb\xff0123456789abcdef01234567")
	good := base64.StdEncoding.EncodeToString(key)
	for _, s := range []string{"whsec_" + good, "whsec_" + good + "\n"} {
		if got, err := ParseSecret([]byte(s)); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q, %v", got, err)
		}
	}
	for s, says := range map[string]string{
		"":                       "empty",
		"\n":                     "empty",
		"whsec_":                 "nothing after",
		good:                     "does not start with whsec_",
		"WHSEC_" + good:          "does not start with whsec_",
		"whsk_" + good:           "asymmetric",
		"whsec_" + good + "\n\n": "another line end",
		"whsec_" + good + "\r\n": "another line end",
		" whsec_" + good:         "space",
		"whsec_" + good + " ":    "space",
		"whsec_" + base64.URLEncoding.EncodeToString(key): "base64url",
		"whsec_" + strings.TrimRight(good, "="):           "padding",
		"whsec_" + good[:8] + "!" + good[9:]:              "characters that base64 has not",
		"whsec_0f3a9b":                                    "padding",
	} {
		_, err := ParseSecret([]byte(s))
		if err == nil || !strings.Contains(err.Error(), says) || len(s) > 8 && strings.Contains(err.Error(), strings.TrimSpace(s)[6:]) {
			t.Errorf("%q: %v, want %q", s, err, says)
		}
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Now()
	for i := range breakAfter {
		if w := b.admit(now); w != 0 {
			t.Fatalf("after %d failures: %v", i, w)
		}
		if open := b.report(false, now); open != (i == breakAfter-1) {
			t.Fatalf("open %v after %d failures", open, i+1)
		}
	}
	if w := b.admit(now.Add(4 * time.Second)); w != 6*time.Second {
		t.Errorf("open: %v", w)
	}
	now = now.Add(probeEvery)
	if w := b.admit(now); w != 0 {
		t.Errorf("the probe waits %v", w)
	}
	if w := b.admit(now); w != probeEvery {
		t.Errorf("a second probe waits %v", w)
	}
	b.withdraw()
	if w := b.admit(now); w != 0 {
		t.Errorf("a probe that was given back: the next waits %v", w)
	}
	if open := b.report(false, now); !open {
		t.Error("closed by a failed probe")
	}
	if w := b.admit(now.Add(time.Second)); w != probeEvery-time.Second {
		t.Errorf("after a failed probe: %v", w)
	}
	if open := b.report(true, now); open || b.admit(now) != 0 {
		t.Error("an answer does not close it")
	}
}

func TestRateLetsNoMoreThroughInAnyPeriod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		r := &rate{period: time.Minute, n: n}
		now := time.Now()
		var passed []time.Time
		for range rapid.IntRange(1, 50).Draw(t, "tries") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			if wait := r.admit(now); wait > 0 {
				now = now.Add(wait)
				if again := r.admit(now); again > 0 {
					t.Fatalf("waited %v for nothing", wait)
				}
			}
			if rapid.Bool().Draw(t, "withdraw") {
				r.withdraw()
			} else {
				passed = append(passed, now)
			}
		}
		for i := n; i < len(passed); i++ {
			if passed[i].Sub(passed[i-n]) < time.Minute {
				t.Fatalf("%d within %v", n+1, passed[i].Sub(passed[i-n]))
			}
		}
	})
}

func TestRateForms(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"20/m", "1/s", "1000/h"} {
		if _, err := parseRate(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"20", "20/", "/m", "0/m", "-1/m", "20/d", "20/m/s", "1.5/m", "2000000/h", "20 /m"} {
		if _, err := parseRate(s); err == nil || !strings.Contains(err.Error(), "20/m") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestLogChannelWritesOneLine(t *testing.T) {
	t.Parallel()
	m := message
	m.Title = "Two\nlines \x1b[2J & <tags>"
	body, err := renderJSON(m)
	if err != nil {
		t.Fatal(err)
	}
	var out, logged bytes.Buffer
	l := &logger{output: &out}
	if r := l.Send(t.Context(), Delivery{Key: "k", Body: body}); r != sentResult {
		t.Errorf("%+v", r)
	}
	if got := out.String(); got != "notification web-01/w48 critical: Two lines [2J & <tags>\n" {
		t.Errorf("%q", got)
	}
	l = &logger{logger: slog.New(slog.NewTextHandler(&logged, nil))}
	if r := l.Send(t.Context(), Delivery{Key: "k", Body: body}); r != sentResult {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"notification", "ticket=web-01/w48", "severity=critical", `title="Two lines [2J & <tags>"`} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("no %s in %s", want, logged.String())
		}
	}
	l = &logger{output: broken{}}
	if r := l.Send(t.Context(), Delivery{Body: body}); r.Status != outbox.Pending {
		t.Errorf("%+v", r)
	}
	if r := l.Send(t.Context(), Delivery{Body: []byte("x")}); r.Status != outbox.Dead {
		t.Errorf("%+v", r)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestTidyIsOneShortPrintableLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		limit := rapid.IntRange(3, 40).Draw(t, "limit")
		got := tidy(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\t\x00\x1b") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
