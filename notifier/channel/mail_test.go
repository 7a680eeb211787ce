// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"crypto/x509"
	"io"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/outbox"
)

func login(t *testing.T) func(*Config) {
	file := write(t, "correct horse\n")
	return func(cc *Config) { cc.Username, cc.PasswordFile = "picket", file }
}

func TestAMailArrives(t *testing.T) {
	t.Parallel()
	implicit := func(s *mailServer) { s.implicit = true }
	for _, c := range []struct {
		name   string
		server []func(*mailServer)
		mailer []func(*Config)
		secure bool
		user   string
	}{
		{"starttls", nil, []func(*Config){login(t)}, true, "/picket/correct horse"},
		{"implicit", []func(*mailServer){implicit}, []func(*Config){login(t), func(cc *Config) { cc.TLS = "implicit" }}, true, "/picket/correct horse"},
		{"none", []func(*mailServer){func(s *mailServer) { s.noTLS = true }}, []func(*Config){func(cc *Config) { cc.TLS = "none" }}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newMailServer(t, c.server...)
			m := s.mailer(t, append(c.mailer, in("zh"))...)
			message := someMessage
			message.Text = ".\r\n.一个点\nfrom a@example.com\n" + strings.Repeat("漏洞", 5000)
			body := rendered(t, m, message)
			for range 2 {
				if got := m.Send(t.Context(), Delivery{Key: message.Key, Body: []byte(body)}); got != sentResult {
					t.Fatalf("got %+v", got)
				}
			}
			mails := s.mails()
			if len(mails) != 2 || mails[0].body != body || mails[1].body != body {
				t.Fatalf("%d mails came, or other bytes than\n%.500s", len(mails), body)
			}
			got := mails[0]
			if !strings.HasPrefix(got.from, "FROM:<picket@example.com>") || strings.Join(got.to, " ") != "TO:<a@example.com> TO:<b@example.com>" ||
				got.secure != c.secure || got.user != c.user {
				t.Errorf("it came as %+v", got)
			}
			parsed, err := netmail.ReadMessage(strings.NewReader(got.body))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
			if err != nil || subject != "【严重】OpenSSH is old" {
				t.Errorf("the subject is %q, %v", subject, err)
			}
			if id := parsed.Header.Get("Message-Id"); id != "<"+webhookID(message.Key)+"@picket.example.com>" {
				t.Errorf("its id is %s", id)
			}
			if date, err := parsed.Header.Date(); err != nil || !date.Equal(message.At) {
				t.Errorf("its date is %v, %v", date, err)
			}
			text, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
			if err != nil || !strings.HasPrefix(string(text), ".\r\n.一个点\r\n") || !strings.Contains(string(text), "编号："+ID(message.Key)) {
				t.Errorf("its text is %.200s, %v", text, err)
			}
		})
	}
}

func TestKindsOfMailFailure(t *testing.T) {
	t.Parallel()
	old := someMessage
	fresh := someMessage
	fresh.At = time.Now()
	tests := []struct {
		name          string
		command, with string
		message       Message
		want          outbox.Status
		says          string
	}{
		{"a busy server", "greeting", "421 later", old, outbox.Pending, "421 later"},
		{"no service", "greeting", "554 no", old, outbox.Pending, "554 no"},
		{"a name unwanted", "EHLO", "501 bad name", old, outbox.Pending, "501 bad name"},
		{"a silent server", "greeting", "hang", old, outbox.Pending, "the time-out is over"},
		{"a slow server", "greeting", "trickle", old, outbox.Pending, "the time-out is over"},
		{"no TLS now", "STARTTLS", "454 TLS not available", old, outbox.Pending, "454"},
		{"a wrong password", "AUTH", "535 no, AHBpY2tldABjb3JyZWN0IGhvcnNl is not it", old, outbox.Pending, "535 no, [secret] is not it"},
		{"a login demanded", "MAIL", "530 log in first", old, outbox.Pending, "530 log in first"},
		{"a quota", "MAIL", "550 5.4.5 Daily user sending quota exceeded.", old, outbox.Pending, "5.4.5"},
		{"too frequent", "RCPT", "550 5.7.1 Connection frequency limited", old, outbox.Pending, "frequency"},
		{"too much traffic", ".", "554 5.7.1 rate limit", old, outbox.Pending, "rate limit"},
		{"too long", ".", "552 5.3.4 message size exceeds the limit", old, outbox.Dead, "5.3.4"},
		{"no login now", "AUTH", "454 later", old, outbox.Pending, "454 later"},
		{"a sender unwanted", "MAIL", "550 not you", old, outbox.Dead, "550 not you"},
		{"a sender too much", "MAIL", "452 full", old, outbox.Pending, "452 full"},
		{"nobody known", "RCPT", "550 who?", old, outbox.Dead, "550 who?"},
		{"nobody now", "RCPT", "450 later", old, outbox.Pending, "450 later"},
		{"one unknown", "RCPT TO:<b@", "550 who?", fresh, outbox.Sent, "sent, but not to b@example.com: 550 who?"},
		{"one later, fresh", "RCPT TO:<b@", "450 later", fresh, outbox.Pending, "1 of 2 recipients have it, 1 not yet: the mail server"},
		{"one has no room", "RCPT TO:<b@", "552 5.2.2 full", fresh, outbox.Pending, "1 of 2 recipients have it"},
		{"none has room", "RCPT TO:", "552 full", fresh, outbox.Pending, "552 full"},
		{"one later, old", "RCPT TO:<b@", "450 later", old, outbox.Pending, "1 of 2 recipients have it, 1 not yet: the mail server"}, // once more, alone
		{"closing down", "RCPT TO:<b@", "421 closing", old, outbox.Pending, "421 closing"},
		{"lost before the mail", "DATA", "hang up", old, outbox.Pending, "does not take the mail"},
		{"no mail now", "DATA", "451 later", old, outbox.Pending, "451 later"},
		{"refused content", ".", "554 spam", old, outbox.Dead, "554 spam"},
		{"no room", ".", "452 full", old, outbox.Pending, "452 full"},
		{"lost after the mail", ".", "hang up", old, outbox.Unknown, "no receipt from the mail server"},
		{"no sense after the mail", ".", "354 go on", old, outbox.Unknown, "354 go on"},
		{"silent after the mail", ".", "hang", old, outbox.Unknown, "the time-out is over"},
		{"no farewell", "QUIT", "hang up", old, outbox.Sent, ""},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newMailServer(t)
			s.answer(c.command, c.with)
			m := s.mailer(t, login(t))
			got := sendMessage(t, m, c.message, time.Second)
			some := strings.Contains(c.says, "recipients have it")
			if got.Status != c.want || got.Doubtful != some || !strings.Contains(strings.ReplaceAll(got.Error, `"`, ""), c.says) || strings.Contains(got.Error, "correct horse") {
				t.Errorf("got %+v, want %s with %q", got, c.want, c.says)
			}
			if n := len(s.mails()); (n > 0) != (c.want == outbox.Sent || c.command == "." || some) {
				t.Errorf("%d mails came", n)
			}
		})
	}
}

// A server that took the mail and then says nothing more is not waited for.
func TestAMailsFarewellIsShort(t *testing.T) {
	t.Parallel()
	s := newMailServer(t)
	s.answer("QUIT", "hang")
	if got := sendMessage(t, s.mailer(t), someMessage, time.Hour); got != sentResult {
		t.Errorf("got %+v", got)
	}
}

func TestAMailNeedsTheTLSThatIsConfigured(t *testing.T) {
	t.Parallel()
	stripped := newMailServer(t, func(s *mailServer) { s.noTLS = true })
	stranger := newMailServer(t)
	stranger.roots = x509.NewCertPool()
	for says, s := range map[string]*mailServer{"STARTTLS": stripped, "certificate": stranger} {
		m := s.mailer(t, login(t))
		if got := sendMessage(t, m, someMessage, time.Second); got.Status != outbox.Pending || !strings.Contains(got.Error, says) {
			t.Errorf("got %+v", got)
		}
		if len(s.mails()) > 0 {
			t.Error("the mail went out")
		}
	}
}

// A title that looks like an encoded word is shown as it stands.
func TestATitleInEncodedWords(t *testing.T) {
	t.Parallel()
	m := newMailServer(t).mailer(t)
	for _, title := range []string{"=?utf-8?B?4oCuZXZpbA==?=", "=?utf-8?Q?=0D=0ABcc:_evil?=", "x =?utf-8?Q?=1B]0;x=07?= y", "=?é?Q?a?=", "a\r\nBcc: evil@example.com"} {
		message := someMessage
		message.Title = title
		parsed, err := netmail.ReadMessage(strings.NewReader(rendered(t, m, message)))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
		want := "[CRITICAL] " + strings.ReplaceAll(plain.Line(title, MaxError), "=?", "="+string(gap)+"?")
		if err != nil || subject != want || parsed.Header.Get("Bcc") != "" {
			t.Errorf("%q is shown as %q, %v", title, subject, err)
		}
	}
}
