// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/supervise"
	"github.com/picketd/picket/outbox"
)

const (
	killAfter = 2 * time.Second        // from TERM to KILL
	killSoon  = 500 * time.Millisecond // the same when the daemon stops
	pipeDelay = time.Second            // for what the command left behind to let go of its standard error
)

// command runs a program with the body on its standard input.
//
// There is no shell. The program has the daemon's PATH, HOME and LANG, the key as PICKET_IDEMPOTENCY_KEY, and / as its
// folder; of what it prints only the end of its standard error is kept. It leads a process group of its own, which gets TERM
// when the time is up and KILL 2 s later, half a second later when the daemon stops.
type command struct {
	argv []string
	env  []string
}

var execKind = kind{name: "exec", keys: []string{"command"}, open: openCommand}

func openCommand(o *opening) Sender {
	o.Demand(len(o.Command) > 0, "command", "is missing: write the program's absolute path and its arguments, such as [\"/usr/local/bin/page\", \"--now\"]")
	if len(o.Command) > 0 {
		err := executable(o.Command[0])
		o.Demand(err == nil, "command", "%v", err)
	}
	c := &command{argv: o.Command}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			c.env = append(c.env, name+"="+value)
		}
	}
	return c
}

func (c *command) Render(m Message) ([]byte, error) { return renderJSON(m) }

func (c *command) Send(ctx context.Context, d Delivery) Result {
	said := &tail{}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append(append([]string{}, c.env...), "PICKET_IDEMPOTENCY_KEY="+d.Key)
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(d.Body)
	cmd.Stderr = said
	cmd.WaitDelay = pipeDelay
	p, err := supervise.Start(cmd) // it outlives a daemon that is killed: what it has begun to tell, it may tell to the end
	if err != nil {
		return unanswered(false, fmt.Sprintf("cannot start the command: %v", err))
	}
	select {
	case <-p.Ended():
		status := p.Reap() // and the end of what it said
		return exited(status, said.String())
	case <-ctx.Done():
	}
	grace := killAfter
	if errors.Is(context.Cause(ctx), ErrStopping) {
		grace = killSoon
	}
	p.End(grace)
	p.Reap()
	return unanswered(true, WithDetail(fmt.Sprintf("the command was ended, %v", context.Cause(ctx)), said.String()))
}

// tail keeps the last MaxError bytes written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-MaxError):]...)
	t.buf = t.buf[max(0, len(t.buf)-MaxError):]
	return len(p), nil
}

func (t *tail) String() string { return plain.Line(string(t.buf), MaxError) }

// The exit codes of sysexits.h that mean something here.
const (
	exitUsage    = 64
	exitData     = 65
	exitTempFail = 75
	exitNoPerm   = 77
	exitConfig   = 78
)

// exited decides what a command's end means. 64, 65, 77 and 78 are for good; 75 is "not now, and nothing was done"; after any
// other code something may have been done, so that only channels that bear a repetition try again.
func exited(status syscall.WaitStatus, said string) Result {
	if status.Signaled() {
		return Result{Status: outbox.Unknown, Error: WithDetail("the command was ended by signal "+status.Signal().String(), said)}
	}
	r := Result{Error: WithDetail(fmt.Sprintf("the command ended with exit code %d", status.ExitStatus()), said)}
	switch status.ExitStatus() {
	case 0:
		return Result{Status: outbox.Sent}
	case exitUsage, exitData, exitNoPerm, exitConfig:
		r.Status = outbox.Dead
	case exitTempFail:
		r.Status = outbox.Pending
	default:
		r.Status, r.Doubtful = outbox.Pending, true
	}
	return r
}

func executable(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is relative: write the program's absolute path", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot find the program: %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not a program: make it executable", path)
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return fmt.Errorf("user %d cannot run %s: %w; let others read and execute it, on a file system that is not noexec", os.Getuid(), path, err)
	}
	return nil
}
