// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/strict"
)

// Severities are those of a notification, the lowest first.
var Severities = []string{"info", "low", "medium", "high", "critical"}

// Config is a [[channel]] of the configuration: one way to notify. Which type understands which key is told in kinds.go.
type Config struct {
	Name        string          `toml:"name"`
	Type        string          `toml:"type"`         // one of Types
	URL         string          `toml:"url"`          // of a webhook or a robot
	URLFile     string          `toml:"url_file"`     // where the URL is, when it is the secret
	Proxy       string          `toml:"proxy"`        // of a webhook or a robot: its URL, or none. Defaults to what the environment says
	ProxyFile   string          `toml:"proxy_file"`   // where the proxy's URL is, when it has a password
	SecretFile  string          `toml:"secret_file"`  // what signs. Defaults to none, unsigned
	Command     []string        `toml:"command"`      // of an exec
	Timeout     strict.Duration `toml:"timeout"`      // of one attempt; of mail for each command. Defaults to 10s, of mail to 1m
	AtMostOnce  bool            `toml:"at_most_once"` // an attempt with an unknown end is not repeated. Defaults to false
	MinSeverity string          `toml:"min_severity"` // Defaults to info
	Flows       []string        `toml:"flows"`        // Defaults to all
	Rate        string          `toml:"rate"`         // such as 20/m. Defaults to what a robot bears, else to no limit
	Insecure    bool            `toml:"insecure"`     // allows http:// to other hosts, and mail without TLS. Defaults to false

	Language     string   `toml:"language"`      // of what people read: en or zh. Defaults to en
	TemplateFile string   `toml:"template_file"` // of what people read. Defaults to Picket's own
	Mentions     []string `toml:"mentions"`      // of a robot: user ids, mobile numbers, @all. Defaults to nobody
	MaxLength    int      `toml:"max_length"`    // of slack: characters that the receiver takes. Defaults to what its URL tells

	SMTP         string   `toml:"smtp"`          // of mail: host:port
	Helo         string   `toml:"helo"`          // of mail: how this host calls itself. Defaults to its full name, else its address
	TLS          string   `toml:"tls"`           // of mail: starttls, implicit or none. Defaults to starttls
	Username     string   `toml:"username"`      // of mail. Defaults to no login
	PasswordFile string   `toml:"password_file"` // of mail
	From         string   `toml:"from"`          // of mail
	To           []string `toml:"to"`            // of mail
}

// Masked is the configuration without what may be secret in a URL or a command line.
func (c Config) Masked() Config {
	if u, err := url.Parse(c.URL); err != nil {
		c.URL = ""
	} else if c.URL != "" {
		c.URL = u.Scheme + "://" + u.Host + "/…"
	}
	if strings.Contains(c.Proxy, "@") {
		c.Proxy = "…"
	}
	if len(c.Command) > 1 {
		c.Command = []string{c.Command[0], "…"}
	}
	return c
}

// Files reads what a channel's keys name. Its errors never hold what was read.
type Files interface {
	// Secret is the one line of a file, without its end.
	Secret(name string) (string, error)
	// Template is a whole file.
	Template(name string) (string, error)
}

// ErrUnread is a Files' answer about a file that cannot be looked at now, and need not be there yet. Check passes over it.
var ErrUnread = errors.New("it is not read now")

// Rate is at most N attempts in any Period.
type Rate struct {
	N      int
	Period time.Duration
}

var rateForm = regexp.MustCompile(`^([1-9][0-9]{0,5})/([smh])$`)

// parseRate reads a form like 20/m.
func parseRate(s string) (r Rate, ok bool) {
	m := rateForm.FindStringSubmatch(s)
	if m == nil {
		return Rate{}, false
	}
	n, _ := strconv.Atoi(m[1]) // its digits are few enough
	return Rate{n, map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[m[2]]}, true
}
