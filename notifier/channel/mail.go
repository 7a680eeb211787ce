// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	netmail "net/mail"
	"regexp"
	"slices"
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
	greetingTime = 5 * time.Minute
	receiptTime  = 10 * time.Minute
)

// mailTime is how long an attempt takes at most: each of the two long waits once, and ten commands of the longest.
func mailTime(timeout time.Duration) time.Duration {
	return max(timeout, greetingTime) + max(timeout, receiptTime) + 10*timeout
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

var mailKind = kind{
	name: "mail", timeout: time.Minute, attempt: mailTime, open: func(o *opening) Sender { return openMailer(o) },
	keys: append(slices.Clone(proseKeys), "smtp", "helo", "tls", "username", "password_file", "from", "to", "insecure"),
}

// heloForm is a name of at least two labels, or an address literal (RFC 5321 section 4.1.3).
var heloForm = regexp.MustCompile(`^(([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?|\[[0-9.]+\]|\[IPv6:[0-9A-Fa-f:.]+\])$`)

func openMailer(o *opening) *mailer {
	host, digits, err := net.SplitHostPort(o.SMTP)
	port, portErr := strconv.ParseUint(digits, 10, 16)
	o.Demand(err == nil && portErr == nil && host != "" && port > 0, "smtp", "%q is not a mail server: write its name and port, such as \"mail.example.com:587\"", o.SMTP)
	o.Demand(o.Helo == "" || heloForm.MatchString(o.Helo), "helo", "%q is no name for a mail server: write a full one, such as \"scan-1.example.com\", or an address, such as \"[192.0.2.1]\"", o.Helo)
	security := cmp.Or(o.TLS, "starttls")
	o.Demand(slices.Contains([]string{"starttls", "implicit", "none"}, security), "tls", "%q is not known: write one of starttls, implicit, none", o.TLS)
	if security == "none" {
		o.Demand(o.Insecure || loopback(host), "tls", "is none, so anybody on the way can read: write starttls or implicit, or insecure = true")
		o.Demand(o.Username == "", "username", "would send a password that anybody on the way can read: take it away, or write tls = \"starttls\"")
	}
	o.Demand(o.Username == "" || o.PasswordFile != "", "password_file", "is missing: name the file where the password of username is")
	o.Demand(o.PasswordFile == "" || o.Username != "", "username", "is missing: write whose password is in password_file")
	password := o.secret("password_file", o.PasswordFile, func(string) error { return nil })
	o.address("from", o.From)
	o.Demand(len(o.To) > 0, "to", "is missing: write a list of addresses, such as [\"ops@example.com\"]")
	for _, a := range o.To {
		o.address("to", a)
	}
	return &mailer{
		host: host, port: int(port), security: security, user: o.Username, password: password, from: o.From, to: o.To,
		timeout: time.Duration(o.Timeout), helo: o.Helo, shown: "the mail server " + o.SMTP,
		tls:     &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12},
		secrets: blank(password, inBase64("\x00"+o.Username+"\x00"+password)),
		prose:   newProse(o, "", func(s string) string { return s }),
	}
}

func (o *opening) address(key, a string) {
	_, err := netmail.ParseAddress(a)
	o.Demand(err == nil, key, "%q is not a mail address: write one such as \"ops@example.com\"", a)
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
