// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/picketd/picket/outbox"
)

const (
	// maxMail bounds a mail in bytes. The longest text in Chinese, quoted-printable, takes a good third of it.
	maxMail = 256 << 10

	// patience is how old a message must be before those recipients that are accepted get it, though others were told "later".
	patience = 15 * time.Minute

	quitTime = time.Second // for a farewell that nothing depends on
)

// mailer hands a mail to a server by SMTP. The whole mail is frozen, with its Message-ID, by which a mail system can tell a
// double, and with its recipients.
type mailer struct {
	*prose
	host     string
	port     int
	security string // starttls, implicit, none
	user     string
	password string
	from     string
	to       []string
	timeout  time.Duration
	tls      *tls.Config
	shown    string
	secrets  secrets
}

func newMailer(cc ChannelConfig) (*mailer, error) {
	host, digits, err := net.SplitHostPort(cc.SMTP)
	port, portErr := strconv.ParseUint(digits, 10, 16)
	m := &mailer{
		host: host, port: int(port), security: cmp.Or(cc.TLS, "starttls"), user: cc.Username, password: cc.Password, from: cc.From,
		to: cc.To, timeout: cmp.Or(cc.Timeout, DefaultTimeout), shown: "the mail server " + cc.SMTP,
		tls: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12},
	}
	switch {
	case err != nil || portErr != nil || host == "" || port == 0:
		return nil, errors.New("smtp must be like mail.example.com:587")
	case m.security != "starttls" && m.security != "implicit" && m.security != "none":
		return nil, fmt.Errorf("tls must be starttls, implicit or none, not %q", cc.TLS)
	case m.security == "none" && !loopback(host) && !cc.Insecure:
		return nil, errors.New("tls must be starttls or implicit; none is for loopback, elsewhere only with insecure = true")
	case (m.user == "") != (m.password == ""):
		return nil, errors.New("username and password go together")
	case m.user != "" && m.security == "none":
		return nil, errors.New("a password needs tls = starttls or implicit")
	case len(m.to) == 0:
		return nil, errors.New("to is missing; a mail channel needs at least one address")
	}
	for _, a := range append([]string{m.from}, m.to...) {
		if _, err := netmail.ParseAddress(a); err != nil {
			return nil, fmt.Errorf("%q is not a mail address", a)
		}
	}
	m.secrets = blank(m.password, inBase64("\x00"+m.user+"\x00"+m.password))
	m.prose, err = newProse(cc, "", func(s string) string { return s })
	return m, err
}

func (m *mailer) Render(msg Message) ([]byte, error) {
	return m.fit(msg, maxMail, func(subject, text string) ([]byte, error) {
		out := mail.NewMsg(mail.WithNoDefaultUserAgent())
		if err := errors.Join(out.From(m.from), out.To(m.to...)); err != nil {
			return nil, err
		}
		out.Subject(subject)
		out.SetDateWithValue(msg.At)
		out.SetMessageIDWithValue(webhookID(msg.Key) + "@picket" + domain(m.from))
		out.SetGenHeader("Auto-Submitted", "auto-generated")
		out.SetBodyString(mail.TypeTextPlain, text)
		var b bytes.Buffer
		_, err := out.WriteTo(&b)
		if !bytes.HasSuffix(b.Bytes(), []byte("\r\n")) {
			b.WriteString("\r\n") // SMTP would add it
		}
		return b.Bytes(), err
	})
}

// domain is a dot and what stands behind an address' @.
func domain(address string) string {
	a, err := netmail.ParseAddress(address)
	if err != nil {
		return ""
	}
	return "." + a.Address[strings.LastIndexByte(a.Address, '@')+1:]
}

func (m *mailer) Send(ctx context.Context, d Delivery) Result {
	from, to, date, err := envelope(d.Body)
	if err != nil {
		return unanswered(false, "cannot read the mail that is to go out: "+err.Error())
	}
	c, hangUp, err := m.connect(ctx)
	defer func() { hangUp() }()
	if err != nil {
		return m.failed(ctx, err, false, "cannot reach "+m.shown)
	}
	if err := c.Mail("<" + from + ">"); err != nil {
		return m.failed(ctx, err, false, m.shown+" does not take the sender")
	}
	leftOut, err := offer(c, to, time.Since(date) > patience)
	if err != nil {
		return m.failed(ctx, err, false, m.shown+" does not take the recipients")
	}
	w, err := c.Data()
	if err != nil {
		return m.failed(ctx, err, false, m.shown+" does not take the mail")
	}
	if _, err := w.Write(d.Body); err != nil { // without its end no server delivers it
		return m.failed(ctx, err, false, m.shown+" has not got the whole mail")
	}
	if err := w.Close(); err != nil {
		return m.failed(ctx, err, true, "no receipt from "+m.shown)
	}
	_ = c.UpdateDeadline(quitTime)
	_ = c.Quit()
	return Result{Status: outbox.Sent, Error: m.secrets.Replace(leftOut)}
}

// envelope reads from a frozen mail who sends it, to whom, and when it was accepted.
func envelope(body []byte) (from string, to []string, date time.Time, err error) {
	msg, err := netmail.ReadMessage(bytes.NewReader(body))
	if err != nil {
		return "", nil, time.Time{}, err
	}
	sender, err := netmail.ParseAddress(msg.Header.Get("From"))
	if err != nil {
		return "", nil, time.Time{}, err
	}
	all, err := msg.Header.AddressList("To")
	for _, a := range all {
		to = append(to, a.Address)
	}
	if err == nil {
		date, err = msg.Header.Date()
	}
	return sender.Address, to, date, err
}

// offer names the recipients. Those that are refused for good are left out, as long as there is another; while anybody is
// told "later", all wait, unless it has become late.
func offer(c *smtp.Client, to []string, late bool) (leftOut string, err error) {
	var refusals []string
	var refusal, later error
	for _, a := range to {
		err := c.Rcpt("<" + a + ">")
		code := smtpCode(err)
		switch {
		case err == nil:
			continue
		case code == 0 || code == 421: // the connection is gone
			return "", err
		case code >= 500:
			refusal = err
		default:
			later = err
		}
		refusals = append(refusals, fmt.Sprintf("%s: %v", a, err))
	}
	none := len(refusals) == len(to)
	switch {
	case later != nil && (none || !late):
		return "", later
	case none:
		return "", refusal
	case len(refusals) == 0:
		return "", nil
	}
	return "sent, but not to " + strings.Join(refusals, "; "), nil
}

// connect dials, secures and logs in. hangUp is never nil; the connection also ends with ctx.
func (m *mailer) connect(ctx context.Context) (c *smtp.Client, hangUp func(), err error) {
	hangUp = func() {}
	policy := mail.TLSMandatory
	switch m.security {
	case "implicit":
		policy = mail.TLSOpportunistic // the connection has it already; so the library sees that
	case "none":
		policy = mail.NoTLS
	}
	options := []mail.Option{
		mail.WithPort(m.port), mail.WithTimeout(m.timeout), mail.WithTLSPolicy(policy), mail.WithTLSConfig(m.tls),
		mail.WithDialContextFunc(func(dialing context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(dialing, network, addr)
			if err != nil {
				return nil, err
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			hangUp = func() {
				stop()
				_ = conn.Close()
			}
			if m.security != "implicit" {
				return conn, nil
			}
			secure := tls.Client(conn, m.tls)
			return secure, secure.HandshakeContext(dialing)
		}),
	}
	if m.user != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.user), mail.WithPassword(m.password))
	}
	client, err := mail.NewClient(m.host, options...)
	if err != nil {
		return nil, hangUp, err
	}
	c, err = client.DialToSMTPClientWithContext(ctx)
	return c, hangUp, err
}

// failed says what a failure means. ended: all of the mail went out, only its receipt is missing.
func (m *mailer) failed(ctx context.Context, err error, ended bool, what string) Result {
	if ctx.Err() != nil && smtpCode(err) == 0 {
		err = context.Cause(ctx)
	}
	return mailed(smtpCode(err), ended, m.secrets.Replace(what+": "+err.Error()))
}
