// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
)

const (
	// maxMail bounds a mail in bytes. The longest text in Chinese, quoted-printable, takes a good third of it.
	maxMail = 256 << 10

	// patience is how old a message must be before the recipients that are still told "later" are left out, when others have it.
	patience = time.Hour

	quitTime = time.Second // for a farewell that nothing depends on
)

// The times of RFC 5321 section 4.5.3.2 for what takes a server long: a look at who connects, and at the whole mail. Who does not
// wait so long for its receipt sends a mail again that was accepted. Any other command has the channel's time-out.
const (
	DefaultMailTimeout = time.Minute
	greetingTime       = 5 * time.Minute
	receiptTime        = 10 * time.Minute
)

// mailTime is how long an attempt takes at most: each of the two long waits once, and ten commands of the longest.
func mailTime(timeout time.Duration) time.Duration {
	each := cmp.Or(timeout, DefaultMailTimeout)
	return max(each, greetingTime) + max(each, receiptTime) + 10*each
}

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
	timeout  time.Duration // of a command
	helo     string        // what the server is greeted with; empty: this host's full name, or its address
	tls      *tls.Config
	shown    string
	secrets  secrets
}

func newMailer(cc ChannelConfig) (*mailer, error) {
	host, digits, err := net.SplitHostPort(cc.SMTP)
	port, portErr := strconv.ParseUint(digits, 10, 16)
	m := &mailer{
		host: host, port: int(port), security: cmp.Or(cc.TLS, "starttls"), user: cc.Username, password: cc.Password, from: cc.From,
		to: cc.To, timeout: cmp.Or(cc.Timeout, DefaultMailTimeout), helo: cc.Helo, shown: "the mail server " + cc.SMTP,
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
		out.Subject(strings.ReplaceAll(subject, "=?", "="+string(gap)+"?")) // what readers would decode
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
