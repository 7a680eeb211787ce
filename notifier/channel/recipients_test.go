// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/outbox"
)

func toMany(n int) func(*Config) {
	return func(cc *Config) {
		cc.To = nil
		for i := range n {
			cc.To = append(cc.To, fmt.Sprintf("r%02d@example.com", i))
		}
	}
}

// copies counts how often each recipient got a mail.
func (s *mailServer) copies() map[string]int {
	n := map[string]int{}
	for _, m := range s.mails() {
		for _, a := range m.to {
			n[strings.TrimSuffix(strings.TrimPrefix(a, "TO:<"), ">")]++
		}
	}
	return n
}

func eachOnce(n map[string]int, want int) bool {
	return len(n) == want && !slices.ContainsFunc(slices.Collect(maps.Values(n)), func(n int) bool { return n != 1 })
}

// Recipients beyond what a server takes in a transaction get the mail in the next, at once.
func TestMoreRecipientsThanATransactionTakes(t *testing.T) {
	t.Parallel()
	for _, full := range []string{
		"452 4.5.3 Error: too many recipients", "452 later", "552 too many", "554 5.5.3 Recipient count exceeds 3",
		"550 too many recipients",
	} {
		s := newMailServer(t, func(s *mailServer) { s.most, s.full = 3, full })
		if got := sendTo(t, s.mailer(t, toMany(8)), time.Minute); got != sentResult {
			t.Errorf("%q: got %+v", full, got)
		}
		if n := s.copies(); len(s.mails()) != 3 || !eachOnce(n, 8) {
			t.Errorf("%q: %d mails came, to %v", full, len(s.mails()), n)
		}
	}
}

// A server that counts on until RSET, or as long as the connection lasts, gives nobody a reason to be left out, though it is late.
func TestAServerThatCountsRecipientsLonger(t *testing.T) {
	t.Parallel()
	for counts, attempts := range map[string]int{"RSET": 1, "EHLO": 3} {
		s := newMailServer(t, func(s *mailServer) { s.most, s.full, s.counts = 3, "452 4.5.3 too many", counts })
		m := s.mailer(t, toMany(8))
		d := Delivery{Key: "k", Body: []byte(rendered(t, m, someMessage))}
		d.Took = func(all []string) { d.Taken = all }
		for n := 1; ; n++ {
			got := m.Send(t.Context(), d)
			if n == attempts && (got != sentResult || !eachOnce(s.copies(), 8)) || n > attempts {
				t.Errorf("until %s: in the end it is %+v, to %v", counts, got, s.copies())
			}
			if got.Status != outbox.Pending {
				break
			}
		}
	}
}

// Who has the mail is in the outbox before the next transaction begins. An attempt that ends there, and a new process, goes on
// with the others.
func TestWhoHasAMailDoesNotGetItAgain(t *testing.T) {
	t.Parallel()
	s := newMailServer(t, func(s *mailServer) { s.most, s.full = 3, "452 4.5.3 too many" })
	m := s.mailer(t, toMany(8))
	store, err := outbox.Open(filepath.Join(t.TempDir(), "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	ref := outbox.Ref{Ticket: "web-01/w48", ID: "w48"}
	body := []byte(rendered(t, m, someMessage))
	if err := store.Stage(outbox.Intent{
		Ref: ref, Asset: "web-01", Task: "w48", Run: 1, Key: "web-01/w48", At: time.Now(), Severity: "high", Content: []byte(`{}`),
		Channels: map[string]outbox.Delivery{"ops": {Type: "mail", Status: outbox.Pending, Body: body, Due: time.Now()}},
	}); err != nil {
		t.Fatal(err)
	}
	has := func() []string {
		in, err := store.Get(ref)
		if err != nil {
			t.Fatal(err)
		}
		return in.Channels["ops"].Taken
	}
	attempt := func(ctx context.Context) Result {
		return m.Send(ctx, Delivery{Key: "k", Body: body, Taken: has(), Took: func(all []string) {
			if err := store.Took(ref, "ops", all); err != nil {
				t.Error(err)
			}
			if len(s.mails()) == 1 {
				s.answer("MAIL", "421 4.7.0 one mail a connection, hang up")
			}
		}})
	}
	got := attempt(t.Context())
	if got.Status != outbox.Pending || !got.Doubtful || !strings.Contains(got.Error, "3 of 8 recipients have it, 5 not yet: ") || !strings.Contains(got.Error, "4.7.0 one mail") {
		t.Errorf("cut off after the first it is %+v", got)
	}
	if got := has(); len(got) != 3 {
		t.Errorf("the outbox says that %q have it", got)
	}
	s.answer("MAIL", "250 ok")
	if got := attempt(t.Context()); got != sentResult || !eachOnce(s.copies(), 8) {
		t.Errorf("then it is %+v, and %v came", got, s.copies())
	}
}

// At the end of an attempt that some have got, the rest is not given up before it is late; then it is said who did not get it.
func TestWhoIsToldLaterWhileOthersHaveIt(t *testing.T) {
	t.Parallel()
	s := newMailServer(t)
	m := s.mailer(t)
	s.answer("RCPT TO:<b@", "450 4.2.0 greylisted")
	fresh := someMessage
	fresh.At = time.Now()
	body := []byte(rendered(t, m, fresh))
	d := Delivery{Key: "k", Body: body}
	d.Took = func(all []string) { d.Taken = all }
	for range 3 {
		if got := m.Send(t.Context(), d); got.Status != outbox.Pending || !got.Partly || !strings.Contains(got.Error, "1 of 2") {
			t.Fatalf("got %+v", got)
		}
	}
	if n := s.copies(); !eachOnce(n, 1) {
		t.Errorf("%v came", n)
	}
	d.Body = []byte(rendered(t, m, someMessage)) // as old as it is
	if got := m.Send(t.Context(), d); got.Status != outbox.Sent || got.Error != "sent, but not to b@example.com: 450 \"4.2.0 greylisted\"" && !strings.Contains(got.Error, "sent, but not to b@example.com: 450") {
		t.Errorf("late it is %+v", got)
	}
	s.answer("RCPT TO:<b@", "250 ok")
	d.Body = body
	if got := m.Send(t.Context(), d); got != sentResult || !eachOnce(s.copies(), 2) {
		t.Errorf("in the end it is %+v, and %v came", got, s.copies())
	}
}

// A server that takes long to look at who connects, or at the mail, is waited for; any other command has the time-out.
func TestTheTimesOfASlowMailServer(t *testing.T) {
	t.Parallel()
	const timeout = 6 * time.Second
	for command, want := range map[string]outbox.Status{
		"greeting": outbox.Sent, ".": outbox.Sent, "DATA": outbox.Pending, "MAIL FROM:<picket@example.com>": outbox.Pending,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newMailServer(t, func(s *mailServer) { s.slow = map[string]time.Duration{command: 2 * timeout} })
			m := s.mailer(t, func(cc *Config) { cc.Timeout = strict.Duration(timeout) })
			if got := sendTo(t, m, time.Minute); got.Status != want {
				t.Errorf("got %+v, want %s", got, want)
			}
		})
	}
}

// The lease is asked for as long as all of an attempt may take.
func TestAMailsLeaseCoversItsLongWaits(t *testing.T) {
	t.Parallel()
	for timeout, each := range map[time.Duration]time.Duration{0: time.Minute, time.Second: time.Second, 10 * time.Minute: 10 * time.Minute} {
		ch, problems := New(Config{
			Name: "a", Type: "mail", SMTP: "127.0.0.1:25", TLS: "none", From: "a@example.com", To: []string{"b@example.com"}, Timeout: strict.Duration(timeout),
		}, Env{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if least := max(each, greetingTime) + max(each, receiptTime) + 10*each; ch.Attempt < least || ch.Sender.(*mailer).timeout != each {
			t.Errorf("with %v an attempt has %v, want at least %v", timeout, ch.Attempt, least)
		}
	}
}

func TestTheNameForAMailServer(t *testing.T) {
	t.Parallel()
	s := newMailServer(t)
	if got := sendTo(t, s.mailer(t, func(cc *Config) { cc.Helo = "scan-1.example.com" }), time.Minute); got != sentResult {
		t.Fatalf("got %+v", got)
	}
	if got := sendTo(t, s.mailer(t), time.Minute); got != sentResult {
		t.Fatalf("got %+v", got)
	}
	mails := s.mails()
	if mails[0].helo != "scan-1.example.com" {
		t.Errorf("it is greeted with %q", mails[0].helo)
	}
	if got := mails[1].helo; got != "[127.0.0.1]" && !fullName(got) {
		t.Errorf("by default it is greeted with %q", got)
	}
	for name, want := range map[string]bool{
		"vm": false, "scan_host_1": false, "scan_1.example.com": false, "scan-1.example.com": true, "a..b": false, ".a.b": false,
		"127.0.0.1": false, "-a.example.com": false, "a.example.com.": false, "Scan.Example.COM": true, "": false,
	} {
		if fullName(name) != want {
			t.Errorf("fullName(%q) is not %t", name, want)
		}
	}
}

// SMTPUTF8 and 8BITMIME are asked for where the mail needs them.
func TestTheExtensionsThatAMailNeeds(t *testing.T) {
	t.Parallel()
	s := newMailServer(t)
	for to, want := range map[string]string{
		"ops@example.com":  "FROM:<picket@example.com>",
		"用户@example.com":   "FROM:<picket@example.com> BODY=8BITMIME SMTPUTF8",
		"o@bücher.example": "FROM:<picket@example.com> BODY=8BITMIME SMTPUTF8",
	} {
		m := s.mailer(t, in("zh"), func(cc *Config) { cc.To = []string{to} })
		if got := sendTo(t, m, time.Minute); got != sentResult {
			t.Fatalf("got %+v", got)
		}
		mails := s.mails()
		if got := mails[len(mails)-1].from; got != want {
			t.Errorf("to %s it is %s, want %s", to, got, want)
		}
	}
}
