// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/outbox"
)

// The defaults of Config and ChannelConfig.
const (
	DefaultRetryFirst = time.Second
	DefaultRetryMax   = 5 * time.Minute
	DefaultGiveUp     = 24 * time.Hour
	DefaultTimeout    = 10 * time.Second
	DefaultLanguage   = "en"
)

// leaseSlack is what an attempt's lease is longer than the channel's time-out.
const leaseSlack = 10 * time.Second

// stopSlack is how long Stop waits for what it had to cut off: a command's TERM and KILL, and the write of its outcome.
const stopSlack = 5 * time.Second

// sayAgain is how often a trouble that goes on is logged: what strikes thousands of intents at once is said once, and again after it.
const sayAgain = time.Minute

var errStopping = errors.New("the daemon is stopping")

// Message is what is to be told about a ticket, before it is rendered for a channel.
type Message struct {
	Key      string // the idempotency key
	Ticket   string // ASSET/TASK
	Asset    string
	Task     string
	Run      int64
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage // nil for none
	At       time.Time       // when it was accepted
}

// ChannelConfig is one configured channel; daemon fills it from the configuration file, with secrets read.
type ChannelConfig struct {
	Name        string
	Type        string // webhook, slack, wecom, dingtalk, feishu, mail, exec, log
	URL         string
	Proxy       string        // of webhooks and robots: a URL, or Direct. Defaults to what the environment says
	Secret      []byte        // webhook: the decoded whsec_ key; dingtalk, feishu: as it is given out; nil: not signed
	Command     []string      // exec: the argument list
	Timeout     time.Duration // of one attempt as a whole, 10 s unless set; of mail for each command, 1 min unless set
	AtMostOnce  bool
	MinSeverity string
	Flows       []string
	Rate        string // at most so many attempts, like 20/m (s, m or h). Defaults to what the robot bears, or to no limit
	Insecure    bool   // allows http:// to another host, and mail without TLS

	// Of what people read: slack, wecom, dingtalk, feishu, mail.
	Language string   // en, zh. Defaults to en
	Template string   // of text/template, over the fields of a view. Defaults to Picket's own
	Mentions []string // of robots: user ids, mobile numbers, @all

	MaxLength int // slack: characters that the receiver takes. Defaults to what its URL tells, or to 40,000 bytes

	SMTP     string // mail: host:port
	Helo     string // mail: what the server is greeted with. Defaults to the host's full name, or its address
	TLS      string // mail: starttls, implicit, none. Defaults to starttls
	Username string // mail; empty: no login
	Password string
	From     string // mail: an address
	To       []string
}

// Config is what New needs.
type Config struct {
	Outbox   *outbox.Store
	Channels []ChannelConfig

	// Attempt and Outcome are the two questions to the engine: may this go out now, and this became of it.
	Attempt func(context.Context, outbox.Attempt) (outbox.Answer, error)
	// Outcome reports closed when the ticket needs nothing more from this intent.
	Outcome func(context.Context, outbox.Outcome) (closed bool, err error)

	RetryFirst time.Duration // Defaults to 1 s
	RetryMax   time.Duration // Defaults to 5 min
	GiveUp     time.Duration // Defaults to 24 h

	Boottime func() time.Duration // CLOCK_BOOTTIME, which leases are counted on

	Version  string       // for User-Agent. Defaults to dev
	Output   io.Writer    // where channels of type log write their line. Defaults to Logger
	Logger   *slog.Logger // Defaults to none
	Registry prometheus.Registerer
}

// box is what is used of outbox.Store, so that a test can make it fail.
type box interface {
	Due(now time.Time, limit int) (due []outbox.Due, next time.Time, err error)
	Newest(now time.Time, limit int) ([]outbox.Due, error)
	Heads(refs []outbox.Ref) ([]outbox.Intent, error)
	Changed() <-chan struct{}
	Stats() outbox.Stats
	Get(outbox.Ref) (outbox.Intent, error)
	Receipt(ticket string, run int64, channel string) (outbox.Receipt, bool, error)
	Attempted(ref outbox.Ref, run int64, channel string) (bool, error)
	Begin(ref outbox.Ref, channel string, number int) error
	Took(ref outbox.Ref, channel string, all []string) error
	Record(o outbox.Outcome, due time.Time, recorded bool) error
	Keep(o outbox.Outcome) error
	Recorded(ref outbox.Ref, channel string) error
	Postpone(ref outbox.Ref, channel string, due time.Time) error
	Shut(ref outbox.Ref, recorded ...string) error
}

// Notifier sends what the outbox has ready.
type Notifier struct {
	Config
	box      box
	channels map[string]*channel
	metrics  *metrics
	said     again.Reminder
	closing  [64]sync.Mutex // by intent: whether a channel is the last one is decided by one at a time

	mu    sync.Mutex // guards what follows, and the lanes' fields
	begun bool
	ended bool
	lanes map[string]*lane // by channel; under "" the one of the channels that are not configured
	known map[key]struct{} // what waits in a lane or is being looked at
	memos map[key]memo
	under map[errand]struct{} // looked at by one job at a time
	wake  time.Time           // when to look into the outbox next; zero: unknown

	sooner  chan struct{} // signalled (capacity 1) when wake came nearer
	quit    chan struct{} // closed by Stop: no new attempt
	done    chan struct{} // closed when the loop and all its workers have ended
	workers sync.WaitGroup
	ctx     context.Context // of what is in flight; cancelled when Stop's time is up
	cut     context.CancelCauseFunc
}

// New checks the channels and wires; it starts nothing. Its errors name the channel and say what would be right.
func New(c Config) (*Notifier, error) {
	if c.Outbox == nil || c.Attempt == nil || c.Outcome == nil || c.Boottime == nil {
		return nil, errors.New("cannot make a notifier without Outbox, Attempt, Outcome and Boottime")
	}
	c.RetryFirst = cmp.Or(c.RetryFirst, DefaultRetryFirst)
	c.RetryMax = cmp.Or(c.RetryMax, DefaultRetryMax)
	c.GiveUp = cmp.Or(c.GiveUp, DefaultGiveUp)
	if c.RetryFirst < 0 || c.RetryMax < c.RetryFirst || c.GiveUp < c.RetryFirst {
		return nil, fmt.Errorf("retry_first (%v) must be positive, and no longer than retry_max (%v) and give_up (%v)",
			c.RetryFirst, c.RetryMax, c.GiveUp)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	n := &Notifier{
		Config:   c,
		box:      c.Outbox,
		channels: map[string]*channel{},
		said:     again.Reminder{Every: sayAgain},
		lanes:    map[string]*lane{"": {most: parallel, turns: newTurns()}},
		known:    map[key]struct{}{},
		memos:    map[key]memo{},
		under:    map[errand]struct{}{},
		sooner:   make(chan struct{}, 1),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	for _, cc := range c.Channels {
		ch, err := newChannel(cc, &c)
		if err == nil && n.channels[cc.Name] != nil {
			err = errors.New("the name is used twice; each channel needs its own")
		}
		if err != nil {
			return nil, fmt.Errorf("channel %q: %w", cc.Name, err)
		}
		n.channels[cc.Name] = ch
		n.lanes[cc.Name] = &lane{channel: ch, most: parallel, turns: newTurns()}
		if cc.Type == "webhook" {
			n.lanes[cc.Name].most = hooks
		}
	}
	m, err := newMetrics(c.Registry, n.channels)
	if err != nil {
		return nil, err
	}
	n.metrics = m
	n.ctx, n.cut = context.WithCancelCause(context.Background())
	return n, nil
}

// Start begins to send what is due. It does nothing the second time, and after Stop.
func (n *Notifier) Start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun || n.ended {
		return
	}
	n.begun = true
	go func() {
		defer close(n.done)
		n.loop()
		n.workers.Wait()
	}()
}

// Stop takes no new attempt, lets those in flight end within ctx, and returns. It is idempotent and needs no Start. What has
// not ended by then is cut off, its outcome still written to the outbox, and Stop says so with ctx's error.
func (n *Notifier) Stop(ctx context.Context) error {
	n.mu.Lock()
	if !n.ended {
		n.ended = true
		close(n.quit)
		if !n.begun {
			close(n.done)
		}
	}
	n.mu.Unlock()
	defer n.cut(errStopping)
	select {
	case <-n.done:
		return nil
	case <-ctx.Done():
	}
	n.cut(errStopping)
	select {
	case <-n.done:
		return fmt.Errorf("cannot wait for the attempts in flight, they were cut off: %w", ctx.Err())
	case <-time.After(stopSlack):
		return fmt.Errorf("cannot end the attempts in flight: %w", ctx.Err())
	}
}

func (n *Notifier) stopping() bool {
	select {
	case <-n.quit:
		return true
	default:
		return false
	}
}

// BreakerOpen reports whether a channel failed so often that only probes go out.
func (n *Notifier) BreakerOpen(channel string) bool {
	ch := n.channels[channel]
	return ch != nil && ch.breaker.isOpen()
}

// Render makes a channel's body of a message. The body is frozen on the ticket, the same for every attempt and host.
func (n *Notifier) Render(channel string, m Message) ([]byte, error) {
	ch := n.channels[channel]
	if ch == nil {
		return nil, fmt.Errorf("cannot render for channel %q: it is not configured", channel)
	}
	body, err := ch.sender.Render(m)
	if err != nil {
		return nil, fmt.Errorf("cannot render for channel %q: %w", channel, err)
	}
	return body, nil
}

// warn logs a trouble; what must be one of a few constant sentences.
func (n *Notifier) warn(level slog.Level, what string, attrs ...slog.Attr) {
	if n.said.Due(what, "") {
		n.Logger.LogAttrs(context.Background(), level, what, attrs...)
	}
}
