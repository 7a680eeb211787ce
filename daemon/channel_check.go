// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/notifier"
)

var (
	severities   = []string{"info", "low", "medium", "high", "critical"} // lowest first
	channelTypes = []string{"webhook", "slack", "wecom", "dingtalk", "feishu", "mail", "exec", "log"}
	robotTypes   = []string{"slack", "wecom", "dingtalk", "feishu"}
	signedTypes  = []string{"webhook", "dingtalk", "feishu"}
	urlTypes     = append([]string{"webhook"}, robotTypes...)
	proseTypes   = append(slices.Clone(robotTypes), "mail") // what people read

	channelForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	rateForm    = regexp.MustCompile(`^[1-9][0-9]{0,5}/[smh]$`)
)

// check looks at one channel whose keys are told with at before them.
func (ch Channel) check(k *checker, at string) {
	k.demand(channelForm.MatchString(ch.Name), at+"name", "must be 1 to 64 of A-Z a-z 0-9 _ -")
	k.between(at+"timeout", ch.Timeout, 100*time.Millisecond, 10*time.Minute)
	k.demand(slices.Contains(severities, ch.MinSeverity), at+"min_severity", "%q is not known: write one of %s", ch.MinSeverity, strings.Join(severities, ", "))
	k.demand(ch.Rate == "" || rateForm.MatchString(ch.Rate), at+"rate", "%q is not a rate: write a number a second, minute or hour, such as \"20/m\"", ch.Rate)
	for _, name := range ch.Flows {
		_, err := engine.LookupFlow(name)
		k.demand(err == nil && name != "", at+"flows", "%q is not a known flow: write \"asset-inference\"", name)
	}
	if !slices.Contains(channelTypes, ch.Type) {
		k.demand(false, at+"type", "%q is not known: write one of %s", ch.Type, strings.Join(channelTypes, ", "))
		return
	}
	ch.checkFields(k, at)
	ch.checkProse(k, at)
	switch ch.Type {
	case "webhook", "slack", "wecom", "dingtalk", "feishu":
		ch.checkURL(k, at)
	case "mail":
		ch.checkMail(k, at)
	case "exec":
		k.demand(len(ch.Command) > 0, at+"command", "is missing: write the program's absolute path and its arguments, such as [\"/usr/local/bin/page\", \"--now\"]")
		if len(ch.Command) > 0 {
			err := executable(ch.Command[0])
			k.demand(err == nil, at+"command", "%v", err)
		}
	}
}

// checkFields refuses the keys that mean nothing for the channel's type.
func (ch Channel) checkFields(k *checker, at string) {
	mail := []string{"mail"}
	for _, f := range []struct {
		key  string
		set  bool
		only []string
	}{
		{"url", ch.URL != "", urlTypes},
		{"url_file", ch.URLFile != "", urlTypes},
		{"proxy", ch.Proxy != "", urlTypes},
		{"proxy_file", ch.ProxyFile != "", urlTypes},
		{"secret_file", ch.SecretFile != "", signedTypes},
		{"insecure", ch.Insecure, append(slices.Clone(urlTypes), "mail")},
		{"command", len(ch.Command) > 0, []string{"exec"}},
		{"language", ch.Language != "", proseTypes},
		{"template_file", ch.TemplateFile != "", proseTypes},
		{"mentions", len(ch.Mentions) > 0, robotTypes},
		{"max_length", ch.MaxLength != 0, []string{"slack"}},
		{"helo", ch.Helo != "", mail},
		{"smtp", ch.SMTP != "", mail},
		{"tls", ch.TLS != "", mail},
		{"username", ch.Username != "", mail},
		{"password_file", ch.PasswordFile != "", mail},
		{"from", ch.From != "", mail},
		{"to", len(ch.To) > 0, mail},
	} {
		k.demand(!f.set || slices.Contains(f.only, ch.Type), at+f.key, "is for type = \"%s\" only: take it away", strings.Join(f.only, `", "`))
	}
}

func (ch Channel) checkURL(k *checker, at string) {
	k.demand(ch.URL == "" || ch.URLFile == "", at+"url_file", "cannot go with url: write one of them")
	k.demand(ch.URL != "" || ch.URLFile != "", at+"url", "is missing: write it, or the file where it is as url_file")
	switch {
	case ch.URL != "":
		err := checkURL(ch.URL, ch.Insecure)
		k.demand(err == nil, at+"url", "%v", err)
	case ch.URLFile != "":
		_, err := ch.url()
		k.readable(err, at+"url_file", ch.URLFile)
	}
	k.demand(ch.Proxy == "" || ch.ProxyFile == "", at+"proxy_file", "cannot go with proxy: write one of them")
	if ch.Proxy != "" {
		err := notifier.CheckProxy(ch.Proxy)
		k.demand(err == nil, at+"proxy", "%v", err)
		u, err := url.Parse(ch.Proxy)
		k.demand(err != nil || u.User == nil, at+"proxy", "holds a login: write all of it into a file, and that as proxy_file")
	}
	if ch.ProxyFile != "" {
		_, err := ch.proxy()
		k.readable(err, at+"proxy_file", ch.ProxyFile)
	}
	k.demand(ch.MaxLength == 0 || ch.MaxLength >= leastLength && ch.MaxLength <= mostLength, at+"max_length", "must be %d to %d characters", leastLength, mostLength)
	if ch.SecretFile != "" && slices.Contains(signedTypes, ch.Type) {
		_, err := ch.secret()
		k.readable(err, at+"secret_file", ch.SecretFile)
	}
}

// The bounds of max_length: severity, title, ticket and id must have room, and Slack takes no more.
const (
	leastLength = 1000
	mostLength  = 40_000
)

// proxy is the channel's own, from the file if it is in one.
func (ch Channel) proxy() (string, error) {
	if ch.ProxyFile == "" {
		return ch.Proxy, nil
	}
	p, err := readSecret(ch.ProxyFile)
	if err != nil {
		return "", err
	}
	if err := notifier.CheckProxy(p); err != nil {
		return "", fmt.Errorf("what is in %s %w", ch.ProxyFile, err)
	}
	return p, nil
}

// url is where a webhook or a robot is, from the file if it is in one.
func (ch Channel) url() (string, error) {
	if ch.URLFile == "" {
		return ch.URL, nil
	}
	u, err := readSecret(ch.URLFile)
	if err != nil {
		return "", err
	}
	if err := checkURL(u, ch.Insecure); err != nil {
		return "", fmt.Errorf("what is in %s %w", ch.URLFile, err)
	}
	return u, nil
}

// secret is the key that signs, nil for none.
func (ch Channel) secret() ([]byte, error) {
	if ch.SecretFile == "" {
		return nil, nil
	}
	s, err := readSecret(ch.SecretFile)
	switch {
	case err != nil:
		return nil, err
	case ch.Type != "webhook" && (strings.HasPrefix(s, "whsec_") || strings.ContainsAny(s, " \t")):
		return nil, fmt.Errorf("cannot use %s: write the secret as the robot's settings show it, alone", ch.SecretFile)
	case ch.Type != "webhook":
		return []byte(s), nil
	}
	key, err := notifier.ParseSecret([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", ch.SecretFile, err)
	}
	return key, nil
}

// checkURL says what is wrong with a webhook's URL, to follow its name in a sentence, without repeating it: it may be a secret.
func checkURL(s string, insecure bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return errors.New("is not a URL for a webhook: write https://host/path")
	case u.Fragment != "":
		return errors.New("has a #fragment, which is never sent: take it away")
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		return errors.New("is http://, which anybody on the way can read: write https://, or insecure = true")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func executable(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is relative: write the program's absolute path", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot find the program: %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not a program: make it executable", path)
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return fmt.Errorf("user %d cannot run %s: %w; let others read and execute it, on a file system that is not noexec", os.Getuid(), path, err)
	}
	return nil
}
