// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bufio"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
)

// mailServer speaks SMTP on a connection at a time, as a test wants it to.
type mailServer struct {
	addr     string
	roots    *x509.CertPool
	tls      *tls.Config
	implicit bool
	noTLS    bool

	mu      sync.Mutex
	slow    map[string]time.Duration // before an answer
	most    int                      // recipients that a transaction may have; 0: any number
	full    string                   // what the others are answered
	counts  string                   // the command that begins the count anew: MAIL unless set
	answers map[string]string        // by the beginning of a command, "." for the mail's end; "hang up" and "hang" do that
	got     []gotMail
}

type gotMail struct {
	from, user string
	helo       string
	to         []string
	body       string
	secure     bool
}

func newMailServer(t *testing.T, change ...func(*mailServer)) *mailServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{
		roots: x509.NewCertPool(), answers: map[string]string{},
		tls: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
	}
	s.roots.AddCert(cert)
	for _, f := range change {
		f(s)
	}
	s.addr = strings.TrimPrefix(raw(t, s.serve), "http://")
	return s
}

// answer sets what a command gets that begins with a word.
func (s *mailServer) answer(command, with string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[command] = with
}

func (s *mailServer) mails() []gotMail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]gotMail(nil), s.got...)
}

// to makes a mailer for the server, which trusts it.
func (s *mailServer) mailer(t *testing.T, change ...func(*Config)) *mailer {
	t.Helper()
	m := made(t, Config{
		Name: "ops", Type: "mail", SMTP: s.addr, From: "Picket <picket@example.com>", To: []string{"a@example.com", "b@example.com"},
		Timeout: strict.Duration(10 * time.Minute), // so that it is the attempt that ends
	}, change...).(*mailer)
	m.tls.RootCAs = s.roots
	return m
}

func (s *mailServer) serve(c net.Conn) {
	secure := s.implicit
	if secure {
		c = tls.Server(c, s.tls)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	// reply answers a command, by the book or as the test wants; false: the connection is over.
	reply := func(command, byTheBook string) bool {
		s.mu.Lock()
		answer := byTheBook
		for prefix, with := range s.answers {
			if strings.HasPrefix(command, prefix) {
				answer = with
			}
		}
		wait := s.slow[command]
		s.mu.Unlock()
		time.Sleep(wait)
		switch answer {
		case "hang up":
			return false
		case "hang":
			_, _ = r.ReadByte()
			return false
		case "trickle":
			trickle(c)
			return false
		}
		answer, ends := strings.CutSuffix(answer, ", hang up")
		_, err := fmt.Fprintf(c, "%s\r\n", answer)
		if ends {
			_ = c.Close()
		}
		return err == nil && strings.HasPrefix(answer, byTheBook[:1])
	}
	if !reply("greeting", "220 mail.example.com ESMTP") {
		return
	}
	var m gotMail
	asked := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		word, rest, _ := strings.Cut(line, " ")
		if word == cmp.Or(s.counts, "MAIL") {
			asked = 0
		}
		switch word {
		case "EHLO":
			extensions := "250-mail.example.com\r\n"
			if secure {
				extensions += "250-AUTH PLAIN\r\n"
			} else if !s.noTLS {
				extensions += "250-STARTTLS\r\n"
			}
			m.helo = rest
			reply(line, extensions+"250-SMTPUTF8\r\n250 8BITMIME")
		case "STARTTLS":
			if reply(line, "220 go on") {
				t := tls.Server(c, s.tls)
				c, r, secure = t, bufio.NewReader(t), true
			}
		case "AUTH":
			login, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			m.user = strings.ReplaceAll(string(login), "\x00", "/")
			reply(line, "235 welcome")
		case "RSET":
			reply(line, "250 ok")
		case "MAIL":
			m.from, m.to = rest, nil
			reply(line, "250 ok")
		case "RCPT":
			if asked++; s.most > 0 && asked > s.most {
				reply(line, s.full)
			} else if reply(line, "250 ok") {
				m.to = append(m.to, rest)
			}
		case "DATA":
			if !reply(line, "354 go on") {
				continue
			}
			var body strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				body.WriteString(strings.TrimPrefix(line, "."))
			}
			m.body, m.secure = body.String(), secure
			s.mu.Lock()
			s.got = append(s.got, m)
			s.mu.Unlock()
			if !reply(".", "250 queued") && s.hangsUp() {
				return
			}
		case "QUIT":
			reply(line, "221 bye")
			return
		default:
			reply(line, "500 what?")
		}
	}
}

// hangsUp reports whether the connection is to end with the mail.
func (s *mailServer) hangsUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.HasPrefix(s.answers["."], "hang")
}
