// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/plain"
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

func newCommand(cc ChannelConfig) (*command, error) {
	if len(cc.Command) == 0 || cc.Command[0] == "" {
		return nil, errors.New(`command is missing; an exec channel needs one like ["/usr/local/bin/notify", "--json"]`)
	}
	c := &command{argv: cc.Command}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			c.env = append(c.env, name+"="+value)
		}
	}
	return c, nil
}

func (c *command) Render(m Message) ([]byte, error) { return renderJSON(m) }

func (c *command) Send(ctx context.Context, d Delivery) Result {
	said := &tail{}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append(append([]string{}, c.env...), "PICKET_IDEMPOTENCY_KEY="+d.Key)
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(d.Body)
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = pipeDelay
	if err := cmd.Start(); err != nil {
		return unanswered(false, fmt.Sprintf("cannot start the command: %v", err))
	}
	late := c.await(ctx, cmd.Process.Pid)
	_ = cmd.Wait() // how it ended is in ProcessState; that its pipes were cut says nothing more
	if late {
		return unanswered(true, withDetail(fmt.Sprintf("the command was ended, %v", context.Cause(ctx)), said.String()))
	}
	return exited(cmd.ProcessState, said.String())
}

// await returns when the process has ended, and whether ctx ended first. The process is not reaped here, so that its number
// is still its group's when that is killed.
func (c *command) await(ctx context.Context, pid int) (late bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	select {
	case <-ended:
		return false
	case <-ctx.Done():
	}
	grace := killAfter
	if errors.Is(context.Cause(ctx), errStopping) {
		grace = killSoon
	}
	_ = unix.Kill(-pid, unix.SIGTERM)
	select {
	case <-ended:
	case <-time.After(grace):
	}
	_ = unix.Kill(-pid, unix.SIGKILL) // also what is left of the group when its leader obeyed
	<-ended
	return true
}

// tail keeps the last maxError bytes written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-maxError):]...)
	t.buf = t.buf[max(0, len(t.buf)-maxError):]
	return len(p), nil
}

func (t *tail) String() string { return plain.Line(string(t.buf), maxError) }
