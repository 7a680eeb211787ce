// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"

	"github.com/picketd/picket/proof/history"
)

// Process is what runs on a host as a process of its own: one after another, for each that ends is followed by a new one.
type Process struct {
	Kind string // agent, exec, run
	Name string // such as agent host-a/1

	mu  sync.Mutex
	cmd *exec.Cmd // the one that runs now, or nil
}

// Kill ends the process with SIGKILL. A new one is started soon.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

// Freeze stops the process with SIGSTOP until Thaw.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw lets the process go on.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

func (p *Process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil
}

func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // fails when it has ended meanwhile
	}
}

// run starts a process and waits for its end. When gently ends it gets TERM, when ctx ends KILL. Each line that it prints is given to
// line, if that is not nil. The code is the exit code, or 128 and the signal.
func (p *Process) run(ctx, gently context.Context, log *history.Log, about history.Process, cmd *exec.Cmd, line func(string)) (code int, err error) {
	var out io.Reader
	if line != nil {
		if out, err = cmd.StdoutPipe(); err != nil {
			return 0, err
		}
	}
	p.mu.Lock()
	if err := cmd.Start(); err != nil {
		p.mu.Unlock()
		return 0, fmt.Errorf("cannot start %s: %w", p.Name, err)
	}
	p.cmd = cmd
	about.PID = cmd.Process.Pid
	log.Write(history.Record{Process: &about})
	p.mu.Unlock()
	defer context.AfterFunc(ctx, p.Kill)()
	defer context.AfterFunc(gently, func() { p.signal(syscall.SIGTERM) })()
	if out != nil {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line(lines.Text())
		}
	}
	_ = cmd.Wait() // the state tells
	p.mu.Lock()
	p.cmd = nil
	p.mu.Unlock()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	about.End, about.Detail = true, cmd.ProcessState.String()
	log.Write(history.Record{Process: &about})
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}
