// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Sender is a type of channel. Its methods may be called at once.
type Sender interface {
	// Render makes the body, which is frozen then.
	Render(Message) ([]byte, error)
	// Send makes one attempt and returns soon after ctx ends. It knows nothing of leases, backoff and records.
	Send(context.Context, Delivery) Result
}

// Delivery is what a Sender gets for one attempt.
type Delivery struct {
	Key  string // the idempotency key
	Body []byte // frozen, as Render made it

	// Taken are the recipients that have it from earlier attempts. Took records, during an attempt, that these have it and others
	// do not yet; nil: nobody records it.
	Taken []string
	Took  func(all []string)
}

// channel is a configured channel at work.
type channel struct {
	name       string
	kind       string // the configured type
	language   string
	timeout    time.Duration // of an attempt as a whole
	atMostOnce bool
	sender     Sender
	breaker    breaker
	rates      rates
	line       line // before the rates
}

func newChannel(cc ChannelConfig, c *Config) (*channel, error) {
	ch := &channel{
		name: cc.Name, kind: cc.Type, language: cmp.Or(cc.Language, DefaultLanguage), timeout: cmp.Or(cc.Timeout, DefaultTimeout),
		atMostOnce: cc.AtMostOnce,
	}
	switch {
	case cc.Name == "":
		return nil, errors.New("name is missing")
	case ch.timeout < 0:
		return nil, fmt.Errorf("timeout must be positive, not %v", cc.Timeout)
	}
	if cc.Type == "mail" {
		ch.timeout = mailTime(cc.Timeout)
	}
	var err error
	limits := robotKinds[cc.Type].rates
	if cc.Rate != "" {
		limits = []string{cc.Rate}
	}
	if ch.rates, err = parseRates(limits); err != nil {
		return nil, err
	}
	switch cc.Type {
	case "webhook":
		ch.sender, err = newWebhook(cc, c.Version)
	case "slack", "wecom", "dingtalk", "feishu":
		ch.sender, err = newRobot(cc, c.Version)
	case "mail":
		ch.sender, err = newMailer(cc)
	case "exec":
		ch.sender, err = newCommand(cc)
	case "log":
		ch.sender = &logger{logger: c.Logger, output: c.Output}
	default:
		err = fmt.Errorf("there is no type %q; there are webhook, slack, wecom, dingtalk, feishu, mail, exec and log", cc.Type)
	}
	return ch, err
}

// admit asks whether the channel may be used now; if not, wait is positive, and inLine tells that w's turn comes then. What is not
// used after all is given back with withdraw.
func (ch *channel) admit(now time.Time, w waiting) (wait time.Duration, inLine bool) {
	if wait = ch.breaker.admit(now); wait > 0 {
		return wait, false
	}
	if wait, inLine = ch.line.admit(now, ch.rates, w); wait > 0 {
		ch.breaker.withdraw()
	}
	return wait, inLine
}

func (ch *channel) withdraw() {
	ch.breaker.withdraw()
	ch.rates.withdraw()
}
