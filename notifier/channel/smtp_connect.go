// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// patient is a connection whose commands have a time-out each, counted from when they are written, however slowly an answer
// trickles. What the library sets instead is left aside.
type patient struct {
	net.Conn
	each time.Duration
	stop func() bool
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.Conn.SetDeadline(time.Now().Add(p.each))
	return p.Conn.Write(b)
}

func (p *patient) SetDeadline(time.Time) error { return nil }

// hangUp may be called before there is a connection.
func (p *patient) hangUp() {
	if p.Conn != nil {
		p.stop()
		_ = p.Conn.Close()
	}
}

// connect dials, secures and logs in. The connection also ends with ctx.
func (m *mailer) connect(ctx context.Context) (c *smtp.Client, conn *patient, err error) {
	conn = &patient{each: m.timeout}
	policy := mail.TLSMandatory
	switch m.security {
	case "implicit":
		policy = mail.TLSOpportunistic // the connection has it already; so the library sees that
	case "none":
		policy = mail.NoTLS
	}
	var client *mail.Client
	options := []mail.Option{
		mail.WithPort(m.port), mail.WithTimeout(mailTime(m.timeout)), mail.WithTLSPolicy(policy), mail.WithTLSConfig(m.tls),
		mail.WithDialContextFunc(func(dialing context.Context, network, addr string) (net.Conn, error) {
			if conn.Conn, err = (&net.Dialer{Timeout: m.timeout}).DialContext(dialing, network, addr); err != nil {
				return nil, err
			}
			conn.stop = context.AfterFunc(ctx, func() { _ = conn.Conn.Close() })
			name := m.helo
			if name == "" {
				name = hostName(dialing, conn.LocalAddr())
			}
			if err := mail.WithHELO(name)(client); err != nil {
				return nil, err
			}
			_ = conn.Conn.SetDeadline(time.Now().Add(max(m.timeout, greetingTime)))
			if m.security != "implicit" {
				return conn, nil
			}
			secure := tls.Client(conn, m.tls)
			if err := secure.HandshakeContext(dialing); err != nil {
				return nil, err
			}
			_ = conn.Conn.SetDeadline(time.Now().Add(max(m.timeout, greetingTime)))
			return secure, nil
		}),
	}
	if m.user != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.user), mail.WithPassword(m.password))
	}
	if client, err = mail.NewClient(m.host, options...); err != nil {
		return nil, conn, err
	}
	c, err = client.DialToSMTPClientWithContext(ctx)
	return c, conn, err
}

// nameTime bounds the search for this host's full name.
const nameTime = 2 * time.Second

// hostName is what this host calls itself to a mail server: its full name, or else its address as a literal (RFC 5321 section
// 4.1.4).
func hostName(ctx context.Context, addr net.Addr) string {
	ctx, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	short, err := os.Hostname()
	if err == nil && fullName(short) {
		return short
	}
	addrs, _ := net.DefaultResolver.LookupHost(ctx, short) // without an answer it is the address
	for _, a := range addrs {
		names, _ := net.DefaultResolver.LookupAddr(ctx, a)
		for _, name := range names {
			if name = strings.TrimSuffix(name, "."); strings.HasPrefix(name, short+".") && fullName(name) {
				return name
			}
		}
	}
	return literal(addr)
}

func literal(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	switch {
	case !ok:
		return "[127.0.0.1]"
	case tcp.IP.To4() == nil:
		return "[IPv6:" + tcp.IP.String() + "]"
	}
	return "[" + tcp.IP.String() + "]"
}

// fullName reports whether a name is one of letters, digits and hyphens in at least two labels.
func fullName(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if strings.Trim(fold(l), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Trim(l, "-") != l || l == "" {
			return false
		}
	}
	return len(labels) > 1 && len(s) <= 253 && net.ParseIP(s) == nil
}
