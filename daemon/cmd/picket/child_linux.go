// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/picketd/picket/agent"
)

// child is the command that exec runs, leader of a process group of its own.
type child struct {
	cmd        *exec.Cmd
	foreground bool // it was given the terminal of this process group

	ended   <-chan struct{} // closes when the leader has ended and can be reaped
	stopped <-chan struct{} // the leader was stopped
}

// findProgram returns the path of a command, as a shell would find it.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", cannotRun(name, err)
	}
	return path, nil
}

// cannotRun says why a command cannot be run, with the shell's code for it.
func cannotRun(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitf(exitNotFound, "cannot run %s: there is no such command", name)
	}
	return exitf(exitCannotRun, "cannot run %s: %v", name, errors.Unwrap(err))
}

// startChild starts a command. The caller's thread must live as long as the command: PDEATHSIG goes off when the thread that
// forked ends, not the process.
func startChild(path string, argv, env []string) (*child, error) {
	ch := &child{foreground: inForeground()}
	ch.cmd = &exec.Cmd{
		Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid: true, Pdeathsig: syscall.SIGKILL, Foreground: ch.foreground, Ctty: unix.Stdin,
		},
	}
	if err := ch.cmd.Start(); err != nil {
		return nil, cannotRun(argv[0], err)
	}
	if ch.foreground {
		signal.Ignore(syscall.SIGTTOU) // or taking the terminal back would stop this process; after Start, so that it is not inherited
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	ch.ended, ch.stopped = ended, stopped
	go func() {
		defer close(ended)
		for {
			var info unix.Siginfo
			err := unix.Waitid(unix.P_PID, ch.pid(), &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
			switch {
			case err == unix.EINTR:
			case err != nil || info.Code != cldStopped:
				return // it has ended, and stays a zombie until reap, so that its id is not used again
			default:
				_ = unix.Waitid(unix.P_PID, ch.pid(), &info, unix.WSTOPPED|unix.WNOHANG, nil)
				stopped <- struct{}{}
			}
		}
	}()
	return ch, nil
}

// cldStopped is CLD_STOPPED, the si_code of a child that was stopped; the system call package has no name for it.
const cldStopped = 5

func (ch *child) pid() int { return ch.cmd.Process.Pid }

// signal sends s to the whole process group.
func (ch *child) signal(s syscall.Signal) { _ = unix.Kill(-ch.pid(), s) }

// terminate asks the whole process group to end, those that are stopped too.
func (ch *child) terminate() {
	ch.signal(unix.SIGTERM)
	ch.signal(unix.SIGCONT)
}

// reap takes the ended leader away and returns its exit code: its own, or 128 + the signal that ended it.
func (ch *child) reap() int {
	_ = ch.cmd.Wait() // the state below says what became of it
	ch.takeTerminal()
	status := ch.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return status.ExitStatus()
}

// sweep waits until nobody is left in the group of the reaped leader, at latest until a moment of CLOCK_BOOTTIME, then kills
// who is.
func (ch *child) sweep(until time.Duration) {
	for unix.Kill(-ch.pid(), 0) == nil {
		if agent.Boottime() >= until {
			ch.signal(unix.SIGKILL)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// inForeground reports whether this process' group has the terminal. Without one it is 0, and so is a group whose leader is outside
// this PID namespace.
func inForeground() bool {
	group := terminalGroup()
	return group != 0 && group == unix.Getpgrp()
}

// terminalGroup returns the process group that has the terminal on standard input, or 0 when it is none.
func terminalGroup() int {
	if !term.IsTerminal(unix.Stdin) {
		return 0
	}
	group, err := unix.IoctlGetInt(unix.Stdin, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// takeTerminal gives the child's terminal back to this process group.
func (ch *child) takeTerminal() {
	if terminalGroup() == ch.pid() {
		_ = unix.IoctlSetPointerInt(unix.Stdin, unix.TIOCSPGRP, unix.Getpgrp())
	}
}

// suspend stops this process group like the child's, so that the shell which started it takes over, and returns when it goes
// on. A group that no shell looks after is not stopped by this.
func (ch *child) suspend() {
	ch.takeTerminal()
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	_ = unix.Kill(0, unix.SIGTSTP)
	select {
	case <-resumed:
	case <-time.After(time.Second):
	}
}

// resume gives the child the terminal, if this group has it, and lets it go on.
func (ch *child) resume() {
	if inForeground() {
		_ = unix.IoctlSetPointerInt(unix.Stdin, unix.TIOCSPGRP, ch.pid())
	}
	ch.signal(unix.SIGCONT)
}
