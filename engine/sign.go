// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pace is how the daemons of a fleet watch each other.
type pace struct {
	every  time.Duration // between two signs of life, and between two looks at those of others
	life   time.Duration // of a sign
	steady time.Duration // for which the own sign must have been written without a break before another counts as dead
	missed time.Duration // for which the other's sign must have been missed by every look
}

// defaultPace: steady is longer than life, so after Redis was away all that live have signed again before anyone judges. So is
// missed longer than every, for when only the node with the other's sign was away.
var defaultPace = pace{every: 5 * time.Second, life: 25 * time.Second, steady: 30 * time.Second, missed: 10 * time.Second}

// signs are this daemon's signs of life.
type signs struct {
	mu     sync.Mutex
	signed bool          // once, by this run
	last   time.Duration // CLOCK_BOOTTIME when the last was sent
	since  time.Duration // when the first of those without a break was sent
	looked time.Duration // when Redis was last asked to take one, whether it answered or not
	failed bool          // the last was not written
	lapsed bool          // for longer than a sign lives it was not asked, and has not answered since
	cloned bool          // another process has this identity
}

// signLoop signs while the outbox can be written.
func (e *Engine) signLoop(ctx context.Context) {
	ticker := time.NewTicker(e.pace.every)
	defer ticker.Stop()
	for {
		if err := e.sign(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("cannot give a sign of life to the other daemons", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// sign gives one sign of life. A daemon that cannot write its outbox gives none: another shall deliver for it.
func (e *Engine) sign(ctx context.Context) (err error) {
	defer func() {
		e.signs.mu.Lock()
		defer e.signs.mu.Unlock()
		e.signs.failed = err != nil
	}()
	if err := e.Identity(); err != nil {
		return err
	}
	if err := e.box.Writable(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.pace.every)
	defer cancel()
	sent := e.now()
	err = e.writeSign(ctx, sent)
	if err == nil || errors.Is(err, errNoAnswer) {
		e.signs.mu.Lock()
		defer e.signs.mu.Unlock()
		e.signs.lapsed = err != nil && (e.signs.lapsed || sent-e.signs.looked >= e.pace.life)
		e.signs.looked = sent
	}
	return err
}

func (e *Engine) writeSign(ctx context.Context, sent time.Duration) error {
	e.signs.mu.Lock()
	again := "0"
	if e.signs.signed {
		again = "1"
	}
	e.signs.mu.Unlock()
	if err := e.redis.SAdd(ctx, e.keys.hosts(), e.box.ID()).Err(); err != nil {
		return unavailable(err)
	}
	n, err := signScript.Run(ctx, e.redis, []string{e.keys.host(e.box.ID())}, e.runID, e.Host, e.pace.life.Milliseconds(), again).Int()
	if err != nil {
		return unavailable(err)
	}
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	if n == 2 {
		e.signs.cloned = true
		return errCloned
	}
	if n == 0 || sent-e.signs.last >= e.pace.life {
		e.signs.since = sent
	}
	e.signs.signed, e.signs.last = true, sent
	return nil
}

// errCloned is said loudly: nothing is sent any more.
var errCloned = fmt.Errorf("another daemon runs with a copy of this outbox.db; this one sends nothing: "+
	"stop it, and remove the copy that is not wanted: %w", ErrOutboxUnavailable)

// Identity is an ErrOutboxUnavailable when another process was seen with this daemon's identity. Then this one accepts and sends
// nothing, for ever.
func (e *Engine) Identity() error {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	if e.signs.cloned {
		return errCloned
	}
	return nil
}

// steady reports whether the own signs were written without a break for long enough to judge others.
func (e *Engine) steady() bool {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	return e.signs.signed && !e.signs.failed && e.signs.last-e.signs.since >= e.pace.steady && e.now()-e.signs.last < e.pace.life
}

// unbroken reports whether nobody can have taken over what was staged at that time, though Redis answers nothing now. Either this run
// of the daemon has signed from before then, without a break, until Redis went away, and has looked for it ever since. Or, after a
// restart, it was staged so lately that the sign of the run before, at most one pace older, cannot have run out.
func (e *Engine) unbroken(staged time.Time) bool {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	age, s := time.Since(staged), &e.signs
	return age >= 0 && age < e.pace.life-e.pace.every ||
		s.signed && !s.lapsed && e.now()-s.looked < e.pace.life && age <= e.now()-s.since
}
