// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/strict"
)

// kinds are the types of channels: a row each, with a file of that name.
var kinds = []kind{webhookKind, slackKind, wecomKind, dingtalkKind, feishuKind, mailKind, execKind, logKind}

// The defaults of Config and of kinds.
const (
	DefaultTimeout = 10 * time.Second
	DefaultWorkers = 16
)

const (
	leastTimeout = 100 * time.Millisecond
	mostTimeout  = 10 * time.Minute
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Channel is a way to notify that can be used.
type Channel struct {
	Config
	Sender
	Attempt time.Duration // what one takes at most
	Workers int           // attempts at once
	Rates   []Rate        // none: no limit
}

// Trial is a message that says of itself that it is a test, in the channel's language.
func (c *Channel) Trial(key, severity string) Message {
	w := languages[cmp.Or(c.Language, DefaultLanguage)]
	return Message{
		Key: key, Ticket: "picket/test", Asset: "picket", Task: "test", Run: 1, Title: w.test[0], Text: w.test[1], Severity: severity,
		At: time.Now().UTC().Truncate(time.Millisecond),
	}
}

// Types are the types of channels.
func Types() []string { return namesOf(func(kind) bool { return true }) }

func namesOf(which func(kind) bool) (names []string) {
	for _, k := range kinds {
		if which(k) {
			names = append(names, k.name)
		}
	}
	return names
}

func kindOf(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// WithDefaults fills in what is not configured.
func (c Config) WithDefaults() Config {
	k, _ := kindOf(c.Type)
	c.Timeout = cmp.Or(c.Timeout, strict.Duration(cmp.Or(k.timeout, DefaultTimeout)))
	c.MinSeverity = cmp.Or(c.MinSeverity, Severities[0])
	return c
}

// URLIsSecret reports whether who knows the channel's URL can send as Picket does.
func (c Config) URLIsSecret() bool {
	k, _ := kindOf(c.Type)
	return k.secret
}

// Check says what is wrong, by key, and what would be right. It reads the files that are named.
func (c Config) Check(files Files) []strict.Problem {
	_, o := assemble(c, Env{Files: files})
	return o.Problems
}

// New makes a channel, and says what is wrong with its configuration.
func New(c Config, env Env) (*Channel, []strict.Problem) {
	ch, o := assemble(c, env)
	o.Demand(!o.unread || len(o.Problems) > 0, "", "%v", ErrUnread)
	return ch, o.Problems
}

func assemble(c Config, env Env) (*Channel, *opening) {
	c = c.WithDefaults()
	o := &opening{Config: c, Env: env}
	timeout := time.Duration(c.Timeout)
	o.Demand(nameForm.MatchString(c.Name), "name", "must be 1 to 64 of A-Z a-z 0-9 _ -")
	o.Demand(timeout >= leastTimeout && timeout <= mostTimeout, "timeout", "is %s: write %s to %s", c.Timeout, strict.Duration(leastTimeout), strict.Duration(mostTimeout))
	o.Demand(slices.Contains(Severities, c.MinSeverity), "min_severity", "%q is not known: write one of %s", c.MinSeverity, strings.Join(Severities, ", "))
	k, ok := kindOf(c.Type)
	if !ok {
		o.Demand(false, "type", "%q is not known: write one of %s", c.Type, strings.Join(Types(), ", "))
		return nil, o
	}
	ch := &Channel{Config: c, Attempt: timeout, Workers: cmp.Or(k.workers, DefaultWorkers)}
	if k.attempt != nil {
		ch.Attempt = k.attempt(timeout)
	}
	limits := k.rates
	if c.Rate != "" {
		limits = []string{c.Rate}
	}
	for _, limit := range limits {
		r, ok := parseRate(limit)
		o.Demand(ok, "rate", "%q is not a rate: write a number a second, minute or hour, such as \"20/m\"", limit)
		ch.Rates = append(ch.Rates, r)
	}
	o.refuseOthersKeys(k)
	ch.Sender = k.open(o)
	return ch, o
}

// refuseOthersKeys demands that no key is set that has a meaning for other types alone.
func (o *opening) refuseOthersKeys(k kind) {
	v := reflect.ValueOf(o.Config)
	for f := range v.Type().Fields() {
		key, value := f.Tag.Get("toml"), v.FieldByIndex(f.Index)
		owners := namesOf(func(k kind) bool { return slices.Contains(k.keys, key) })
		unset := value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0
		o.Demand(unset || owners == nil || slices.Contains(owners, k.name), key, "is for type = \"%s\" only: take it away", strings.Join(owners, `", "`))
	}
}
