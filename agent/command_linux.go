// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/supervise"
	"github.com/picketd/picket/engine/process"
)

const (
	exitLater = 75 // with which a command says: not now

	endGrace   = 3 * time.Second // from TERM to KILL, when no lost claim hurries
	killGrace  = 2 * time.Second // from KILL to giving up: what still runs then is not this user's to end, or stuck in the kernel
	drainGrace = 2 * time.Second // for output that is still on its way when the command has ended, or that nobody wants any more
)

// errLater is a command's exit with 75.
var errLater = errors.New("says that it is to be tried later (exit 75)")

// outlivedError says that a command was given up which could not be ended.
type outlivedError struct {
	cause error // why it was to end
	left  supervise.Member
}

func (e *outlivedError) Error() string {
	return fmt.Sprintf("%v; %s still runs, as process %d: it could not be ended from here", e.cause, plain.Line(e.left.Name, 0), e.left.PID)
}

func (e *outlivedError) Unwrap() error { return e.cause }

// invocation is one run of a command.
type invocation struct {
	argv, env []string
	stdin     []byte // nil: nothing, from /dev/null
	okExit    []int
	limit     int64 // of standard output, in bytes
	stderr    func(line string)
	consume   func(io.Reader) error // reads standard output
	claim     context.Context       // its cause says when KILL must come, whatever ended ctx before; nil: none does
}

// run runs the command to its end, in a process group of its own that does not outlive it. Its error says what was wrong with
// the way it ended, or with what it wrote. A command is whole only when all that it started in its group has ended by itself.
// When ctx is done, the group gets TERM, and KILL after endGrace or, of a claim that is lost before or after that, when the
// LostError says. What is still there killGrace later is given up with an outlivedError.
func (in *invocation) run(ctx context.Context) error {
	p, err := startProcess(in.argv, in.env, in.stdin)
	if errors.Is(err, syscall.E2BIG) {
		return err
	}
	if err != nil {
		return &hostError{err}
	}
	consumed, logged, drained := make(chan error, 1), make(chan string, 1), make(chan struct{})
	defer func() {
		p.letGo()
		<-drained
	}()
	stdout := supervise.Limit(p.stdout, in.limit)
	go func() {
		defer close(drained)
		err := in.consume(stdout)
		consumed <- err
		if err != nil { // let it end by itself: its exit may say more than what it wrote
			_, _ = io.Copy(io.Discard, p.stdout)
		}
	}()
	go func() { logged <- supervise.LogLines(p.stderr, in.stderr) }()

	var parseErr error
	done, parsed, killed := ctx.Done(), false, false
	var lost <-chan struct{} // once it was asked to end
	var kill <-chan time.Time
	var killAt time.Time
	for ended := false; !ended; {
		select {
		case <-p.Ended():
			ended = true
		case <-done:
			done = nil
			p.Terminate()
			delay := killDelay(ctx)
			kill, killAt, lost = time.After(delay), time.Now().Add(delay), cmp.Or(in.claim, context.Background()).Done()
		case <-lost:
			if lost = nil; !killed {
				kill = time.After(min(time.Until(killAt), killDelay(in.claim)))
			}
		case <-kill:
			if killed {
				return in.givenUp(ctx, parseErr, supervise.Member{PID: p.ID(), Name: in.argv[0]})
			}
			killed = true
			p.Signal(unix.SIGKILL)
			kill = time.After(killGrace)
		case parseErr = <-consumed:
			consumed, parsed = nil, true
			if parseErr != nil && kill == nil {
				kill = time.After(drainGrace)
			}
		}
	}
	// Others of its group may go on, and others than those may hold the pipes open.
	grace := time.Now()
	if ctx.Err() == nil {
		grace = grace.Add(drainGrace)
	}
	if !parsed {
		select {
		case parseErr = <-consumed:
			parsed = true
		case <-time.After(time.Until(grace)):
		}
	}
	left := p.AwaitAlone(time.Until(grace))
	p.Signal(unix.SIGKILL)
	if !parsed {
		parseErr = awaitEnd(consumed, stdout, p)
	}
	last := ""
	select {
	case last = <-logged:
	case <-time.After(drainGrace):
		_ = p.stderr.Close()
		last = <-logged
	}
	if len(left) > 0 {
		parseErr = fmt.Errorf("it has ended, but %s, which it started, went on as process %d and had to be ended: that was not a whole scan",
			plain.Line(left[0].Name, 0), left[0].PID)
		if left = p.AwaitAlone(killGrace); len(left) > 0 {
			return in.givenUp(ctx, parseErr, left[0])
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if killed {
		return in.unusable(parseErr)
	}
	return in.ending(p.Reap(), parseErr, last)
}

// givenUp is the error of a command of which something could not be ended.
func (in *invocation) givenUp(ctx context.Context, parseErr error, left supervise.Member) error {
	cause := in.unusable(parseErr)
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	return &outlivedError{cause, left}
}

// awaitEnd waits for the reader of standard output, which ends when nobody holds the pipe any more.
func awaitEnd(consumed <-chan error, stdout *supervise.Limited, p *running) error {
	select {
	case err := <-consumed:
		return err
	case <-time.After(drainGrace):
	}
	_ = p.stdout.Close()
	if err := <-consumed; stdout.Ended() {
		return err
	}
	return errors.New("it has ended, but something that it started still holds its output open: nobody can tell whether that was all")
}

// ending says what was wrong with a command that ended by itself.
func (in *invocation) ending(status syscall.WaitStatus, parseErr error, lastLine string) error {
	said := ""
	if lastLine != "" {
		said = ": " + lastLine
	}
	switch {
	case status.Signaled():
		return fmt.Errorf("%s was ended by signal %d (%s)%s", in.argv[0], status.Signal(), status.Signal(), said)
	case status.Exited() && slices.Contains(in.okExit, status.ExitStatus()):
		return in.unusable(parseErr)
	case status.ExitStatus() == exitLater:
		return fmt.Errorf("%s %w%s", in.argv[0], errLater, said)
	}
	err := fmt.Errorf("%s ended with %d, which is not among ok_exit %v%s", in.argv[0], status.ExitStatus(), in.okExit, said)
	if code := status.ExitStatus(); code == exitCannotRun || code == exitNotFound {
		return &hostError{err}
	}
	if full := fullDisk(); full != nil {
		return &hostError{fmt.Errorf("%w; %w", full, err)}
	}
	return err
}

// unusable says what was wrong with the output, if anything was.
func (in *invocation) unusable(parseErr error) error {
	if parseErr == nil {
		return nil
	}
	return fmt.Errorf("the output of %s cannot be used: %w", in.argv[0], parseErr)
}

// killDelay is how long a command that was asked to end may take.
func killDelay(ctx context.Context) time.Duration {
	if lost, ok := errors.AsType[*lease.LostError](context.Cause(ctx)); ok {
		return max(lost.KillAt-process.Boottime(), 0)
	}
	return endGrace
}
