// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// errEviction: a full Redis with any other policy throws locks and tickets away.
var errEviction = errors.New("locks and tickets may be evicted")

// checkSettings asks every master whether it may be trusted with locks. An errEviction is the answer that it may not; any
// other error is no answer. The warnings are about what a restart of Redis would lose.
func checkSettings(ctx context.Context, client redis.UniversalClient) (warnings []string, err error) {
	return eachMaster(ctx, client, checkServer)
}

// eachMaster asks every server that takes writes, those of a Cluster at once, and returns what they say, each once.
func eachMaster(ctx context.Context, client redis.UniversalClient, ask func(context.Context, *redis.Client) (string, error)) (said []string, err error) {
	var mu sync.Mutex
	gather := func(ctx context.Context, c *redis.Client) error {
		one, err := ask(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		if one != "" && !slices.Contains(said, one) {
			said = append(said, one)
		}
		return err
	}
	switch c := client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, gather)
	case *redis.Client:
		err = gather(ctx, c)
	default:
		err = fmt.Errorf("cannot ask the masters through a %T", client)
	}
	return said, err
}

// checkServer reads the settings with CONFIG GET, or with INFO where an ACL or a hosted Redis forbids CONFIG.
func checkServer(ctx context.Context, c *redis.Client) (warning string, err error) {
	policy, err := setting(ctx, c, "maxmemory-policy")
	if forbidden(err) {
		policy, err = infoField(ctx, c, "memory", "maxmemory_policy")
	}
	switch {
	case forbidden(err):
		return "", fmt.Errorf("cannot read Redis' maxmemory-policy: allow its user +config|get or +info: %w", err)
	case err != nil:
		return "", fmt.Errorf("cannot read Redis' maxmemory-policy: %w", err)
	case policy != "noeviction":
		return "", fmt.Errorf("%w: Redis' maxmemory-policy is %q: set it to noeviction", errEviction, policy)
	}

	save, err := setting(ctx, c, "save")
	if err != nil {
		return "", nil //nolint:nilerr // without CONFIG, whether Redis saves is not to be known, and it is only a warning
	}
	if appendonly, err := setting(ctx, c, "appendonly"); err == nil && save == "" && appendonly == "no" {
		return "Redis writes nothing to disk: when it restarts, locks and tickets are gone; set appendonly or save", nil
	}
	return "", nil
}

// forbidden tells a command that an ACL refuses, or that is renamed away.
func forbidden(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), "NOPERM") || strings.HasPrefix(err.Error(), "ERR unknown command"))
}

func setting(ctx context.Context, c *redis.Client, name string) (string, error) {
	values, err := c.ConfigGet(ctx, name).Result()
	return values[name], err
}

func infoField(ctx context.Context, c *redis.Client, section, field string) (string, error) {
	info, err := c.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	value, ok := fields(info)[field]
	if !ok {
		return "", fmt.Errorf("INFO %s has no %s", section, field)
	}
	return value, nil
}

const (
	settingsLimit = 2 * time.Second        // for one check, and for the first answer before the daemon serves without it
	settingsRetry = 250 * time.Millisecond // between checks until Redis answers for the first time
	settingsEvery = 5 * time.Second        // between checks after that
)

// settingsWatch keeps what is known of Redis' settings: at start, and again and again, because a failover brings another
// server and an operator changes a running one.
type settingsWatch struct {
	client redis.UniversalClient
	config RedisConfig
	log    *slog.Logger

	asked time.Time // when the ACL was; only run uses it

	known    chan struct{} // closed when Redis has answered for the first time
	mu       sync.Mutex    // guards what follows
	answered bool
	verdict  error    // of the last answer: nil or an errEviction
	trouble  error    // why the last check had no answer, nil if it had one
	refused  error    // an errConnection: what the trouble rests on, where that could be found out
	warnings []string // of the last answer
	denied   string   // by Redis' ACL; run alone writes it
	warned   map[string]bool
}

var errUnasked = errors.New("cannot tell yet whether Redis' settings are right")

func newSettingsWatch(client redis.UniversalClient, c RedisConfig, log *slog.Logger) *settingsWatch {
	return &settingsWatch{client: client, config: c, log: log, known: make(chan struct{}), warned: map[string]bool{}}
}

// run checks until ctx ends.
func (w *settingsWatch) run(ctx context.Context) {
	for {
		w.check(ctx)
		pause := settingsEvery
		if w.away() { // who comes back may be another server, with other settings
			pause = settingsRetry
		} else {
			w.permissions(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (w *settingsWatch) check(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, settingsLimit)
	defer cancel()
	warnings, err := checkSettings(limited, w.client)
	if ctx.Err() != nil {
		return
	}
	silent := err != nil && !errors.Is(err, errEviction)
	var refused error
	if silent && w.unexplained() { // one that starts later than this daemon may refuse it then
		refused = w.config.explain(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if silent {
		if w.trouble == nil || refused != nil {
			w.refused = refused
			w.log.Warn("Redis cannot be asked; calls that need it are refused until it can", "error", cmp.Or(refused, err))
		}
		w.trouble = err
		return
	}
	if w.trouble != nil {
		w.log.Info("Redis answers again")
	}
	switch {
	case err != nil && w.verdict == nil:
		w.log.Error("no new claims are granted", "error", err)
	case err == nil && w.verdict != nil:
		w.log.Info("Redis' settings are right again, claims are granted")
	}
	for _, warning := range warnings {
		if !w.warned[warning] {
			w.log.Warn(warning)
		}
		w.warned[warning] = true
	}
	w.verdict, w.trouble, w.refused, w.warnings = err, nil, nil, warnings
	if !w.answered {
		w.answered = true
		close(w.known)
	}
}

// unwise is what the last answers warned of.
func (w *settingsWatch) unwise() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denied != "" {
		return append(slices.Clone(w.warnings), w.denied)
	}
	return w.warnings
}

func (w *settingsWatch) away() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.answered || w.trouble != nil
}

func (w *settingsWatch) unexplained() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused == nil
}

// explained is the error of a call, or what is known of why the connection is refused.
func (w *settingsWatch) explained(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || w.refused == nil {
		return err
	}
	return w.refused
}

// gate says why Redis may not be used for new claims. Once it has answered well, a Redis that is away changes nothing here.
func (w *settingsWatch) gate() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.answered:
		return w.verdict
	case w.trouble != nil:
		return w.trouble
	}
	return errUnasked
}
