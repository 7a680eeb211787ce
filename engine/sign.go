// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/picketd/picket/outbox"
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
	former string        // the runs of this outbox before this one, as ',a,b,'; empty until this run is noted in the outbox
	signed bool          // once, by this run
	at     string        // when the last was written, ms of Redis' clock
	last   time.Duration // CLOCK_BOOTTIME when the last was sent
	since  time.Duration // when the first of those was sent before which no sign had run out
	whole  time.Duration // when the first of those was sent since which no other daemon can have missed one for long enough
	looked time.Duration // when Redis was last asked to take one, whether it answered or not
	failed bool          // the last was not written
	lapsed bool          // for longer than a sign lives it was not asked, and has not answered since
	rival  rival         // who signs with this identity too; zero: nobody
}

// rival is another run whose sign stands under this identity.
type rival struct {
	nonce, at  string
	label, pid string
	since      time.Duration // when this sign was first found
	again      bool          // it was renewed since
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
	if err := e.enlist(); err != nil {
		return err
	}
	e.signs.mu.Lock()
	was, at, former, over := e.signs.rival, e.signs.at, e.signs.former, ""
	e.signs.mu.Unlock()
	if was != (rival{}) && sent-was.since >= e.pace.missed { // it has been still for as long as it takes to be missed
		over = was.nonce + " " + was.at
	}
	if err := e.redis.SAdd(ctx, e.keys.hosts(), e.box.ID()).Err(); err != nil {
		return unavailable(err)
	}
	v, err := signScript.Run(ctx, e.redis, []string{e.keys.host(e.box.ID())}, e.runID, e.Host, e.pace.life.Milliseconds(), os.Getpid(),
		at, former, over).Slice()
	if err != nil {
		return unavailable(err)
	}
	n, _ := v[0].(int64)
	text := reply{rest: []any{v}}.texts(0)
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	s := &e.signs
	if n == 2 {
		s.meet(rival{nonce: text[2], at: text[1], label: text[3], pid: text[4], since: sent})
		return s.rival
	}
	if s.rival != (rival{}) {
		e.log.Warn("no other daemon signs with this outbox's identity any more; this one goes on", "nonce", s.rival.nonce)
		s.rival = rival{}
	}
	gap := sent - s.last
	if n == 0 || gap >= e.pace.life {
		s.since = sent
	}
	if !s.signed || gap >= e.pace.life || n == 0 && gap >= e.pace.missed {
		s.whole = sent
	}
	s.signed, s.at, s.last = true, text[1], sent
	return nil
}

// enlist notes this run in the outbox before its first sign, so that the next runs know it for one of theirs.
func (e *Engine) enlist() error {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	if e.signs.former != "" {
		return nil
	}
	former, err := e.box.Enlist(e.runID)
	if err != nil {
		return fmt.Errorf("cannot note this run of the daemon in the outbox: %w", err)
	}
	e.signs.former = "," + strings.Join(former, ",") + ","
	return nil
}

// meet notes another's sign, and whether it is alive: one that was renewed.
func (s *signs) meet(r rival) {
	if was := s.rival; was.nonce == r.nonce {
		r.again = was.again || was.at != r.at
		if was.at == r.at {
			r.since = was.since
		}
	}
	s.rival = r
}

// errCloned is an ErrOutboxUnavailable, and said loudly: nothing is accepted or sent.
var errCloned = fmt.Errorf("this one accepts and sends nothing: %w", ErrOutboxUnavailable)

// Error says who it is.
func (r rival) Error() string {
	who := "another daemon"
	if r.pid != "" {
		who = fmt.Sprintf("process %s on host %s", r.pid, r.label)
	}
	if r.again {
		return fmt.Sprintf("%s runs with a copy of this outbox.db: stop it, and remove the copy that is not wanted; until it has stopped, %v", who, errCloned)
	}
	return fmt.Sprintf("%s signed with the identity of this outbox.db; until it is known to have stopped, %v", who, errCloned)
}

func (r rival) Unwrap() error { return errCloned }

// Identity is an ErrOutboxUnavailable while another process is seen to have this daemon's identity. Then this one accepts and sends
// nothing.
func (e *Engine) Identity() error {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	if e.signs.rival != (rival{}) {
		return e.signs.rival
	}
	return nil
}

// steady reports whether the own signs were written without a break for long enough to judge others.
func (e *Engine) steady() bool {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	s := &e.signs
	return s.signed && !s.failed && s.last-s.since >= e.pace.steady && e.now()-s.last < e.pace.life
}

// unbroken reports whether nobody can have taken over what was staged at that time by this host's clock, though Redis answers nothing
// now, or has lost it. Either this run of the daemon has signed from before then, without a break, until Redis went away, and has
// looked for it ever since. Or, after a restart, it was staged so lately that the sign of the run before, at most one pace older,
// cannot have run out. What the clock says is still to come was staged before it was set.
func (e *Engine) unbroken(staged time.Time) bool {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	age, s := time.Since(staged), &e.signs
	return age >= 0 && (age < e.pace.life-e.pace.every || s.signed && !s.lapsed && e.now()-s.looked < e.pace.life && age <= e.now()-s.whole)
}

// staged is when an intent was staged by this host's clock as it goes now, whatever it was set to since; zero if another boot staged
// it, and At alone where that is not known.
func (e *Engine) staged(a outbox.Attempt) time.Time {
	switch a.Boot {
	case "":
		return a.At
	case e.boot:
		return time.Now().Add(a.Clock - e.now())
	}
	return time.Time{}
}
