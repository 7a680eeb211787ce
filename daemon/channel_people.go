// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"io"
	"net"
	"net/mail"
	"os"
	"regexp"
	"strconv"

	"github.com/picketd/picket/notifier"
)

const maxTemplate = 64 << 10 // bytes

var mentionForm = regexp.MustCompile(`^(@all|\+?[A-Za-z0-9][A-Za-z0-9_.@-]{0,63})$`)

// checkProse looks at the keys of what people read.
func (ch Channel) checkProse(k *checker, at string) {
	k.demand(ch.Language == "" || ch.Language == "en" || ch.Language == "zh", at+"language", "%q is not known: write one of en, zh", ch.Language)
	for _, m := range ch.Mentions {
		k.demand(mentionForm.MatchString(m), at+"mentions", "%q is nobody: write user ids or mobile numbers, without an @ before them, or \"@all\"", m)
	}
	if ch.TemplateFile != "" {
		_, err := ch.template()
		k.readable(err, at+"template_file", ch.TemplateFile)
	}
}

// template is the channel's own, empty for none.
func (ch Channel) template() (string, error) {
	if ch.TemplateFile == "" {
		return "", nil
	}
	path, err := credentialPath(ch.TemplateFile)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the template: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the template: %w", err)
	case len(b) == 0:
		return "", fmt.Errorf("%s is empty: write a template into it, or take the key away", path)
	case len(b) > maxTemplate:
		return "", fmt.Errorf("%s is longer than a template of %d bytes", path, maxTemplate)
	}
	return string(b), notifier.CheckTemplate(string(b))
}

// heloForm is a name of at least two labels, or an address literal (RFC 5321 section 4.1.3).
var heloForm = regexp.MustCompile(`^(([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?|\[[0-9.]+\]|\[IPv6:[0-9A-Fa-f:.]+\])$`)

func (ch Channel) checkMail(k *checker, at string) {
	host, port, err := net.SplitHostPort(ch.SMTP)
	n, portErr := strconv.ParseUint(port, 10, 16)
	k.demand(err == nil && portErr == nil && host != "" && n > 0, at+"smtp", "%q is not a mail server: write its name and port, such as \"mail.example.com:587\"", ch.SMTP)
	k.demand(ch.Helo == "" || heloForm.MatchString(ch.Helo), at+"helo", "%q is no name for a mail server: write a full one, such as \"scan-1.example.com\", or an address, such as \"[192.0.2.1]\"", ch.Helo)
	switch ch.TLS {
	case "", "starttls", "implicit":
	case "none":
		k.demand(ch.Insecure || loopback(host), at+"tls", "is none, so anybody on the way can read: write starttls or implicit, or insecure = true")
		k.demand(ch.Username == "", at+"username", "would send a password that anybody on the way can read: take it away, or write tls = \"starttls\"")
	default:
		k.demand(false, at+"tls", "%q is not known: write one of starttls, implicit, none", ch.TLS)
	}
	k.demand(ch.Username == "" || ch.PasswordFile != "", at+"password_file", "is missing: name the file where the password of username is")
	k.demand(ch.PasswordFile == "" || ch.Username != "", at+"username", "is missing: write whose password is in password_file")
	if ch.PasswordFile != "" {
		_, err := readSecret(ch.PasswordFile)
		k.readable(err, at+"password_file", ch.PasswordFile)
	}
	k.address(at+"from", ch.From)
	k.demand(len(ch.To) > 0, at+"to", "is missing: write a list of addresses, such as [\"ops@example.com\"]")
	for _, a := range ch.To {
		k.address(at+"to", a)
	}
}

func (k *checker) address(key, a string) {
	_, err := mail.ParseAddress(a)
	k.demand(err == nil, key, "%q is not a mail address: write one such as \"ops@example.com\"", a)
}

// password is that of a mail server's user, empty for none.
func (ch Channel) password() (string, error) {
	if ch.PasswordFile == "" {
		return "", nil
	}
	return readSecret(ch.PasswordFile)
}
