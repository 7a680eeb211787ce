// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/picketd/picket/outbox"
)

// Send hands the mail over to those that have it not yet, in as many transactions as the server needs: whom it takes get it at
// once, and who has it is recorded before the next transaction.
func (m *mailer) Send(ctx context.Context, d Delivery) Result {
	from, to, date, err := envelope(d.Body)
	if err != nil {
		return unanswered(false, "cannot read the mail that is to go out: "+err.Error())
	}
	got := d.Taken
	left := slices.DeleteFunc(slices.Clone(to), func(a string) bool { return slices.Contains(got, a) })
	c, conn, err := m.connect(ctx)
	defer conn.hangUp()
	if err != nil {
		return m.partly(m.failed(ctx, err, greeted, "cannot reach "+m.shown), got, to, left, nil)
	}
	var refused []string
	for round := 0; len(left) > 0; round++ {
		if round > 0 { // some servers count on until they are told
			if err := say(c, 250, "RSET"); err != nil && (smtpCode(err) == 0 || smtpCode(err) == 421) {
				return m.partly(m.failed(ctx, err, offered, m.shown+" takes no further mail"), got, to, left, refused)
			}
		}
		o, failed := m.transact(ctx, c, conn, from, left, d.Body)
		if failed != nil {
			return m.partly(*failed, got, to, left, refused)
		}
		refused, left = append(refused, o.refused...), o.left
		if len(o.taken) == 0 {
			// On a connection that has carried a mail it may be the server's limit, and is no reason to leave anybody out.
			if len(got) == 0 || len(left) > 0 && (round > 0 || time.Since(date) <= patience) {
				r := m.failed(ctx, o.why, offered, m.shown+" does not take the recipients")
				if len(left) > 0 {
					r.Status, r.Partly = outbox.Pending, len(got) > 0
				}
				return m.partly(r, got, to, left, refused)
			}
			for _, a := range left {
				refused = append(refused, fmt.Sprintf("%s: %v", a, o.why))
			}
			break
		}
		if got = slices.Concat(got, o.taken); len(left) > 0 && d.Took != nil {
			d.Took(got)
		}
	}
	conn.each = quitTime
	_ = c.Quit()
	return Result{Status: outbox.Sent, Error: m.secrets.Replace(leftOut(refused))}
}

// leftOut names who did not get a mail that others got.
func leftOut(refused []string) string {
	if len(refused) == 0 {
		return ""
	}
	return "sent, but not to " + strings.Join(refused, "; ")
}

// partly says what a failure means when some have the mail already. What is refused for good is then for those that are left, and
// only a channel that bears a repetition goes on: another host does not know who has it.
func (m *mailer) partly(r Result, got, to, left, refused []string) Result {
	switch {
	case len(got) == 0:
		return r
	case r.Status == outbox.Dead:
		return Result{Status: outbox.Sent, Error: m.secrets.Replace(leftOut(append(refused, strings.Join(left, ", ")+": "+r.Error)))}
	}
	r.Doubtful = r.Status == outbox.Pending
	r.Error = fmt.Sprintf("%d of %d recipients have it, %d not yet: %s", len(got), len(to), len(left), r.Error)
	return r
}

// offer is what a server said to recipients.
type offer struct {
	taken   []string
	refused []string // for good, each with the reason
	left    []string // not now, or not asked, because the transaction has as many as the server takes
	why     error    // the last refusal; one of those that are left, if there are any
}

// transact hands the mail over to those whom the server takes in one transaction.
func (m *mailer) transact(ctx context.Context, c *smtp.Client, conn *patient, from string, to []string, body []byte) (o offer, failed *Result) {
	fail := func(err error, stage mailStage, what string) (offer, *Result) {
		r := m.failed(ctx, err, stage, what)
		return offer{}, &r
	}
	if err := say(c, 250, "MAIL FROM:<%s>%s", from, extensions(c, from, to, body)); err != nil {
		return fail(err, offered, m.shown+" does not take the sender")
	}
	for i, a := range to {
		err := say(c, 25, "RCPT TO:<%s>", a)
		code := smtpCode(err)
		switch {
		case err == nil:
			o.taken = append(o.taken, a)
			continue
		case code == 0 || code == 421: // the connection is gone
			return fail(err, offered, m.shown+" does not take the recipients")
		case len(o.taken) > 0 && crowded(err):
			o.left, o.why = append(o.left, to[i:]...), err
		case code >= 500 && !passes(err) && !crowded(err):
			o.refused = append(o.refused, fmt.Sprintf("%s: %v", a, err))
			if len(o.left) == 0 {
				o.why = err
			}
			continue
		default:
			o.left, o.why = append(o.left, a), err
			continue
		}
		break
	}
	if len(o.taken) == 0 {
		return o, nil
	}
	w, err := c.Data()
	if err != nil {
		return fail(err, offered, m.shown+" does not take the mail")
	}
	if _, err := w.Write(body); err != nil { // without its end no server delivers it
		return fail(err, offered, m.shown+" has not got the whole mail")
	}
	conn.each = max(m.timeout, receiptTime)
	err = w.Close()
	conn.each = m.timeout
	if err != nil {
		return fail(err, handedOver, "no receipt from "+m.shown)
	}
	return o, nil
}

// extensions are those that the mail needs, of what the server offers (RFC 6531 section 3.4, RFC 6152). A server that does not
// offer them says itself what it does not take.
func extensions(c *smtp.Client, from string, to []string, body []byte) (with string) {
	if ok, _ := c.Extension("8BITMIME"); ok && !ascii(string(body)) {
		with += " BODY=8BITMIME"
	}
	if ok, _ := c.Extension("SMTPUTF8"); ok && !ascii(from+strings.Join(to, "")) {
		with += " SMTPUTF8"
	}
	return with
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// say gives a command and reads its answer.
func say(c *smtp.Client, code int, format string, args ...any) error {
	id, err := c.Text.Cmd(format, args...)
	if err != nil {
		return err
	}
	c.Text.StartResponse(id)
	defer c.Text.EndResponse(id)
	_, _, err = c.Text.ReadResponse(code)
	return err
}

// failed says what a failure means.
func (m *mailer) failed(ctx context.Context, err error, stage mailStage, what string) Result {
	if ctx.Err() != nil && smtpCode(err) == 0 {
		err = context.Cause(ctx)
	}
	return mailed(err, stage, m.secrets.Replace(what+": "+err.Error()))
}

// mailed decides what a failure to hand over a mail means: by the server's answer (RFC 5321 section 4.2.1), if there is one. Until
// all of a mail went out, no server delivers it. What a server says before it heard of the mail is about this host, or its login,
// which a person or time mends; so are some of the later answers.
func mailed(err error, stage mailStage, reason string) Result {
	switch code := smtpCode(err); {
	case code/100 == 5 && stage > greeted && !passes(err):
		return Result{Status: outbox.Dead, Error: reason}
	case code/100 == 4, code/100 == 5:
		return Result{Status: outbox.Pending, Error: reason}
	}
	return unanswered(stage == handedOver, reason)
}

// mailStage is how far an attempt came.
type mailStage int

const (
	greeted    mailStage = iota // connecting, greeting, logging in
	offered                     // naming who sends to whom, and giving the mail
	handedOver                  // all of the mail went out, its receipt is missing
)

// passing is what servers say with codes from 500 on of what is over some time later: a login that is wrong or demanded, a quota
// (5.4.5), too many mails or connections.
var passing = regexp.MustCompile(`(?i)^53[0-9] |\b5\.4\.5\b|frequency|rate.?limit|too (many|fast)|try (again|later)|quota|temporar|throttl`)

func passes(err error) bool { return saysSo(err, passing) }

// saysSo reports whether a mail server's answer is of a form.
func saysSo(err error, form *regexp.Regexp) bool {
	said, ok := errors.AsType[*textproto.Error](err)
	return ok && form.MatchString(said.Error())
}

// tooMany is what servers say when a transaction has as many recipients as they take (RFC 5321 sections 4.5.3.1.10 and 4.2.3).
var tooMany = regexp.MustCompile(`(?i)^(452|552) |\b[45]\.5\.3\b|too many recipients|recipient (count|limit)`)

func crowded(err error) bool { return saysSo(err, tooMany) }

// smtpCode is that of a mail server's answer, 0 if err is something else.
func smtpCode(err error) int {
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return said.Code
	}
	return 0
}
