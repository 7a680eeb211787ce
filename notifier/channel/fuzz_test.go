// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bufio"
	"encoding/base64"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/outbox"
)

// FuzzAnswer: whatever a receiver answers, it becomes a status, a pause within bounds, and an error that has no secret.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "", []byte(`{"errcode":0,"errmsg":"ok"}`))
	f.Add(429, "120", []byte(`{"code":9499,"msg":"too many request"}`))
	f.Add(503, "Sun, 29 Nov 2026 08:01:00 GMT", []byte(`{"StatusCode":19021,"msg":"hunter2"}`))
	f.Add(302, "1e3", []byte("hunter2"))
	f.Add(200, "-1", []byte(`{"errcode":99999999999999999999}`))
	hide := blank("hunter2hunter2")
	kinds := map[string]*robotCodes{"feishu": &feishuCodes, "dingtalk": dingtalk.codes, "wecom": wecom.codes}
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
		body = []byte(strings.ReplaceAll(string(body), "hunter2", "hunter2hunter2"))
		r := reply{code: 100 + int(uint(status)%900), header: http.Header{"Retry-After": {after}}, raw: body, body: hide.Replace(string(body)), hide: hide.Replace}
		check := func(kind string, got Result) {
			switch got.Status {
			case outbox.Sent:
				if r.code < 200 || r.code > 299 {
					t.Fatalf("%s: HTTP %d counts as sent", kind, r.code)
				}
			case outbox.Pending, outbox.Dead, outbox.Unknown:
				if got.Error == "" {
					t.Fatalf("%s: HTTP %d %q is %s without a word", kind, r.code, body, got.Status)
				}
			default:
				t.Fatalf("%s: HTTP %d %q is %+v", kind, r.code, body, got)
			}
			if got.RetryAfter < 0 || got.RetryAfter > maxRetryAfter || got.RetryAfter > 0 && got.Status != outbox.Pending {
				t.Fatalf("%s: HTTP %d, Retry-After %q is %+v", kind, r.code, after, got)
			}
			if strings.Contains(got.Error, "hunter2hunter2") {
				t.Fatalf("%s: the error has the secret: %q", kind, got.Error)
			}
		}
		check("webhook", answered(r, "https://example.com", now))
		for name, codes := range kinds {
			check(name, codes.answered(r, "https://example.com", now))
		}
	})
}

// FuzzMailAnswer: whatever a mail server answers at whatever point, it becomes a status with a word; what may have been taken is
// never called refused before it was handed over, nor sent.
func FuzzMailAnswer(f *testing.F) {
	f.Add(552, "5.5.3 Too many recipients", 0)
	f.Add(421, "4.7.0 try again later", 1)
	f.Add(550, "5.1.1 no such user", 2)
	f.Fuzz(func(t *testing.T, code int, said string, at int) {
		err := &textproto.Error{Code: code, Msg: said}
		stage := []mailStage{greeted, offered, handedOver}[uint(at)%3]
		got := mailed(err, stage, "no receipt")
		switch got.Status {
		case outbox.Pending, outbox.Dead, outbox.Unknown:
		default:
			t.Fatalf("%d %q at %v is %+v", code, said, stage, got)
		}
		if got.Status == outbox.Dead && (code < 500 || passes(err)) {
			t.Fatalf("%d %q at %v is given up", code, said, stage)
		}
		_, _ = crowded(err), smtpCode(err)
	})
}

// FuzzMailServer: whatever a mail server says, line by line, an attempt ends; it is sent only if all of the mail was taken, and else
// something is told of it.
func FuzzMailServer(f *testing.F) {
	good := "220 mx ESMTP\n250-mx\r\n250 8BITMIME\n250 ok\n250 ok\n250 ok\n354 go on\n250 queued\n221 bye"
	f.Add(good)
	f.Add(strings.Replace(good, "8BITMIME", "AUTH PLAIN LOGIN", 1))
	f.Add(strings.Replace(good, "250 ok", "452 4.5.3 too many", 2))
	f.Add("421 later")
	f.Add("220 mx\n500 what\n250 mx\n550-no\r\n551 no")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = listener.Close() })
	ch, problems := New(Config{
		Name: "ops", Type: "mail", SMTP: listener.Addr().String(), TLS: "none", Helo: "host.example.com", From: "picket@example.com",
		To: []string{"a@example.com", "b@example.com"}, Timeout: strict.Duration(time.Minute),
	}, Env{Files: onDisk{}})
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	body, err := ch.Sender.Render(Message{Key: "a/t", Ticket: "a/t", Asset: "a", Task: "t", Title: "t", Text: "x", Severity: "high", At: time.Now()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, script string) {
		served := make(chan bool, 1)
		go func() { served <- saysByTheBook(listener, strings.Split(script, "\n")) }()
		got := ch.Sender.Send(t.Context(), Delivery{Key: "a/t", Body: body})
		taken := <-served
		if got.Status == outbox.Sent && !taken {
			t.Fatalf("it counts as sent: %+v", got)
		}
		if got.Status != outbox.Sent && got.Error == "" {
			t.Fatalf("it tells nothing: %+v", got)
		}
	})
}

// saysByTheBook answers a connection's greeting and each of its commands with the next of the lines, and ends with the last. It reports
// whether a mail arrived whole.
func saysByTheBook(listener net.Listener, lines []string) (arrived bool) {
	c, err := listener.Accept()
	if err != nil {
		return false
	}
	defer c.Close()
	commands, mail := bufio.NewScanner(c), false
	for i, line := range lines {
		if i > 0 {
			_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // it may wait for more of the answer before
			for commands.Scan() && mail && commands.Text() != "." {
			}
			arrived = arrived || mail && commands.Text() == "."
			mail = commands.Text() == "DATA" && strings.HasPrefix(line, "3")
		}
		if _, err := c.Write([]byte(line + "\r\n")); err != nil {
			break
		}
	}
	return arrived
}

// FuzzSecret: what is taken as a webhook's secret is what its text says, and what is refused is not repeated.
func FuzzSecret(f *testing.F) {
	f.Add([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
	f.Add([]byte("whsec_a-_b"))
	f.Add([]byte("whsk_\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		key, err := parseSecret(b)
		text := strings.TrimSuffix(string(b), "\n")
		if err == nil && secretPrefix+base64.StdEncoding.EncodeToString(key) != text {
			t.Fatalf("%q is read as %q", b, key)
		}
		if rest := strings.TrimPrefix(text, secretPrefix); err != nil && len(rest) > 12 && strings.Contains(err.Error(), rest) {
			t.Fatalf("the error repeats what was refused: %v", err)
		}
	})
}

// FuzzHiding: no text shows a secret, in whichever of its forms it stands there, and however it is cut.
func FuzzHiding(f *testing.F) {
	f.Add("https://example.com/hook/T0K3N-of-a-path?key=a%20b", "says T0K3N-of-a-path and a b", "passw0rd")
	f.Fuzz(func(t *testing.T, from, text, secret string) {
		s := secretsOf(from, secret)
		if got := s.Replace(text + secret + text); len(secret) >= 8 && strings.Trim(secret, "*") != "" && strings.Contains(got, secret) {
			t.Fatalf("%q shows %q", got, secret)
		}
		_ = s.hideCut(text)
	})
}
