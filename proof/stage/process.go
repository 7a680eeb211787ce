// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// process is the one program of a place, which may be started again.
type process struct {
	starting sync.Mutex // is held while it is started, until it is ready

	mu    sync.Mutex
	cmd   *exec.Cmd     // nil: it was never started
	ended chan struct{} // closes when cmd has ended
}

// start starts a command, which appends what it says to a log. begun and ended are called with its PID, in this order.
func (p *process) start(cmd *exec.Cmd, log string, begun func(pid int), ended func(pid int, how string)) error {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", filepath.Base(log), err)
	}
	pid, end := cmd.Process.Pid, make(chan struct{})
	p.cmd, p.ended = cmd, end
	begun(pid)
	go func() {
		_ = cmd.Wait()
		ended(pid, cmd.ProcessState.String())
		close(end)
	}()
	return nil
}

// signal sends a signal, if there is a process, and returns what closes at its end; nil when there is none.
func (p *process) signal(s unix.Signal) (ended <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process.Signal(s) != nil {
		return nil
	}
	return p.ended
}

// Kill ends the process with SIGKILL, and waits for its end. One that does not run is left alone.
func (p *process) Kill() {
	if ended := p.signal(unix.SIGKILL); ended != nil {
		<-ended
	}
}

// Freeze stops the process with SIGSTOP, until Thaw.
func (p *process) Freeze() { p.signal(unix.SIGSTOP) }

// Thaw lets the process go on.
func (p *process) Thaw() { p.signal(unix.SIGCONT) }

// PID is the process; 0 when none runs. A frozen one runs.
func (p *process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	select {
	case <-p.ended:
		return 0
	default:
		return p.cmd.Process.Pid
	}
}

// Running reports whether the process is there; a frozen one is.
func (p *process) Running() bool { return p.PID() != 0 }

// inside is a program in a link's network. nsenter becomes the program: the PID is the program's.
func inside(l *link, name string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + l.name, "--", name}, args...)...)
}

// tail is the end of a log.
func tail(path string) string {
	all, _ := os.ReadFile(path)
	return strings.TrimSpace(string(all[max(0, len(all)-2000):]))
}
