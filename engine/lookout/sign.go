// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/picketd/picket/engine/store"
)

// overdueMost is how many daemons that are gone one look is told of.
const overdueMost = 16

// SignLoop signs while the outbox can be written.
func (l *Lookout) SignLoop(ctx context.Context) {
	ticker := time.NewTicker(l.Pace.Every)
	defer ticker.Stop()
	for {
		if err := l.Sign(ctx); err != nil && ctx.Err() == nil {
			l.c.Logger.Warn("cannot give a sign of life to the other daemons", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sign gives one sign of life. A daemon that cannot write its outbox gives none: another shall deliver for it.
func (l *Lookout) Sign(ctx context.Context) (err error) {
	defer func() {
		l.signs.mu.Lock()
		defer l.signs.mu.Unlock()
		l.signs.failed = err != nil
	}()
	if err := l.c.Outbox.Writable(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Pace.Every)
	defer cancel()
	sent := l.c.Now()
	err = l.writeSign(ctx, sent)
	if err == nil || errors.Is(err, store.ErrNoAnswer) {
		l.signs.mu.Lock()
		defer l.signs.mu.Unlock()
		l.signs.lapsed = err != nil && (l.signs.lapsed || sent-l.signs.looked >= l.Pace.Life)
		l.signs.looked = sent
	}
	return err
}

func (l *Lookout) writeSign(ctx context.Context, sent time.Duration) error {
	if err := l.enlist(); err != nil {
		return err
	}
	row := l.row()
	l.signs.mu.Lock()
	mine := store.Sign{
		Daemon: *l.c.Daemon, Row: row, PID: os.Getpid(), Life: l.Pace.Life, At: l.signs.at, Former: l.signs.former,
		Late: l.Pace.Life + l.Pace.Missed, Turn: l.Pace.Every,
	}
	if row == l.signs.told {
		mine.Row = ""
	}
	if s := &l.signs; s.asked && s.signed && sent-s.last < l.Pace.Missed && l.steadyLocked(sent) {
		mine.Most = overdueMost
	}
	if was := l.signs.rival; was.Run != "" && sent-was.since >= l.Pace.Missed { // it has been still for as long as it takes to be missed
		mine.Over = was.Signed
	}
	l.signs.mu.Unlock()
	answer, other, err := l.store.Sign(ctx, mine)
	if err != nil {
		return err
	}
	l.signs.mu.Lock()
	defer l.signs.mu.Unlock()
	s := &l.signs
	if other != nil {
		s.meet(rival{Signed: *other, since: sent})
		return s.rival
	}
	if s.rival != (rival{}) {
		l.c.Logger.Warn("no other daemon signs with this outbox's identity any more; this one goes on", "nonce", s.rival.Run)
		s.rival = rival{}
	}
	gap, at := sent-s.last, milliseconds(answer.At)
	stepped := (at - s.stood - gap).Abs() > l.Pace.Missed
	if !answer.Kept || gap >= l.Pace.Life || stepped {
		s.since = sent
	}
	if !s.signed || gap >= l.Pace.Missed {
		s.looks = sent
	}
	if !s.signed || gap >= l.Pace.Life || !answer.Kept && gap >= l.Pace.Missed {
		s.whole = sent
	}
	if s.told = row; !answer.Kept && mine.Row == "" {
		s.told = "" // it may be lost with the sign
	}
	s.signed, s.at, s.stood, s.last = true, answer.At, at, sent
	if len(answer.Overdue) > 0 && l.steadyLocked(sent) {
		s.asked = false
		l.overdue <- answer.Overdue
	}
	return nil
}

// row is what the fleet is told of this daemon.
func (l *Lookout) row() string {
	if l.c.About == nil {
		return ""
	}
	row, _ := json.Marshal(l.c.About())
	return string(row)
}

// milliseconds reads a time of Redis' clock.
func milliseconds(at string) time.Duration {
	ms, _ := strconv.ParseInt(at, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// Overdue waits for daemons that gave no sign of life for so long that they are gone. Errors: the context's.
func (l *Lookout) Overdue(ctx context.Context) ([]store.Silent, error) {
	l.signs.mu.Lock()
	l.signs.asked = true
	l.signs.mu.Unlock()
	select {
	case gone := <-l.overdue:
		return gone, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// enlist notes this run in the outbox before its first sign, so that the next runs know it for one of theirs.
func (l *Lookout) enlist() error {
	l.signs.mu.Lock()
	defer l.signs.mu.Unlock()
	if l.signs.former != nil {
		return nil
	}
	former, err := l.c.Outbox.Enlist(l.c.Daemon.Run)
	if err != nil {
		return fmt.Errorf("cannot note this run of the daemon in the outbox: %w", err)
	}
	l.signs.former = append([]string{}, former...)
	return nil
}

// Identity is a outbox.ErrUnavailable while another process is seen to have this daemon's identity. Then this one accepts and sends
// nothing.
func (l *Lookout) Identity() error {
	l.signs.mu.Lock()
	defer l.signs.mu.Unlock()
	if l.signs.rival != (rival{}) {
		return l.signs.rival
	}
	return nil
}

// Steady reports whether the own signs were written without a break for long enough to judge others.
func (l *Lookout) Steady() bool {
	l.signs.mu.Lock()
	defer l.signs.mu.Unlock()
	s := &l.signs
	return s.signed && !s.failed && l.steadyLocked(s.last) && l.c.Now()-s.last < l.Pace.Life
}

// steadyLocked is Steady as of a sign.
func (l *Lookout) steadyLocked(sent time.Duration) bool {
	return sent-l.signs.since >= l.Pace.Steady && sent-l.signs.looks >= l.Pace.Missed
}

// Unbroken reports whether nobody can have taken over what was staged at that time by this host's clock, though Redis answers nothing
// now, or has lost it. Either this run of the daemon has signed from before then, without a break, until Redis went away, and has
// looked for it ever since. Or, after a restart, it was staged so lately that the sign of the run before, at most one pace older,
// cannot have run out. What the clock says is still to come was staged before it was set.
func (l *Lookout) Unbroken(staged time.Time) bool {
	l.signs.mu.Lock()
	defer l.signs.mu.Unlock()
	age, s := time.Since(staged), &l.signs
	return age >= 0 && (age < l.Pace.Life-l.Pace.Every || s.signed && !s.lapsed && l.c.Now()-s.looked < l.Pace.Life && age <= l.c.Now()-s.whole)
}

// Stood reports whether this run of the daemon has signed without a break since that time by this host's clock, and its last sign, which
// Redis took, has not run out. Others may have been at work while one that Redis does not answer looked for it.
func (l *Lookout) Stood(since time.Time) bool {
	l.signs.mu.Lock()
	defer l.signs.mu.Unlock()
	age, s := time.Since(since), &l.signs
	return age >= 0 && s.signed && l.c.Now()-s.last < l.Pace.Life && age <= l.c.Now()-s.whole
}
