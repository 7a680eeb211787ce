// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	settingsLimit = 2 * time.Second        // for one check, and for the first answer before the daemon serves without it
	settingsRetry = 250 * time.Millisecond // between checks until Redis answers for the first time
	settingsEvery = 5 * time.Second        // between checks after that
)

// settingsWatch keeps what is known of Redis' settings: at start, and again and again, because a failover brings another
// server and an operator changes a running one.
type settingsWatch struct {
	client redis.UniversalClient
	log    *slog.Logger

	known    chan struct{} // closed when Redis has answered for the first time
	mu       sync.Mutex    // guards what follows
	answered bool
	verdict  error    // of the last answer: nil or an errEviction
	trouble  error    // why the last check had no answer, nil if it had one
	warnings []string // of the last answer
	warned   map[string]bool
}

var errUnasked = errors.New("cannot tell yet whether Redis' settings are right")

func newSettingsWatch(client redis.UniversalClient, log *slog.Logger) *settingsWatch {
	return &settingsWatch{client: client, log: log, known: make(chan struct{}), warned: map[string]bool{}}
}

// run checks until ctx ends.
func (w *settingsWatch) run(ctx context.Context) {
	for {
		w.check(ctx)
		pause := settingsEvery
		if w.away() { // who comes back may be another server, with other settings
			pause = settingsRetry
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !errors.Is(err, errEviction) {
		if w.trouble == nil {
			w.log.Warn("Redis cannot be asked; calls that need it are refused until it can", "error", err)
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
	w.verdict, w.trouble, w.warnings = err, nil, warnings
	if !w.answered {
		w.answered = true
		close(w.known)
	}
}

// unwise is what the last answer warned of.
func (w *settingsWatch) unwise() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.warnings
}

func (w *settingsWatch) away() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.answered || w.trouble != nil
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
