// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/lease"
)

// child is the command that exec runs, with its warden.
type child struct {
	cmd      *exec.Cmd       // the warden, which ends as the command does
	link     *os.File        // to the warden; it closes with this process
	terminal bool            // it shares this process' group, and its terminal
	ended    <-chan struct{} // closes when it has ended and can be reaped
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

// startChild starts a command under its warden. Without a terminal it leads a process group of its own. On a terminal it stays in this
// process' group, as under nice: the group may be a pipeline's, in which others read the terminal too, and the terminal sends Ctrl-C and
// Ctrl-Z to all of it.
func startChild(path string, argv, env []string) (*child, error) {
	// Whoever the warden leaves behind becomes a child of this process, so that all are found.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, exitf(exitInternal, "cannot look after what the command leaves behind: %v", err)
	}
	ch := &child{terminal: onTerminal()}
	cmd, near, far, err := wardenCommand(path, argv, env, !ch.terminal)
	if err != nil {
		return nil, exitf(exitInternal, "cannot look after the command: %v", err)
	}
	ch.cmd, ch.link = cmd, near
	err = ch.cmd.Start()
	_ = far.Close()
	if err != nil {
		return nil, cannotRun(argv[0], err)
	}
	if err := started(near); err != nil {
		_ = ch.cmd.Wait()
		return nil, cannotRun(argv[0], &fs.PathError{Op: "exec", Path: path, Err: err})
	}
	ended := make(chan struct{})
	ch.ended = ended
	go func() {
		defer close(ended)
		for unix.Waitid(unix.P_PID, ch.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		} // it has ended, and stays a zombie until reap, so that its id is not used again
	}()
	return ch, nil
}

func (ch *child) pid() int { return ch.cmd.Process.Pid }

// signal sends s to the warden, which takes no notice of what may be caught, the command and all its descendants.
func (ch *child) signal(s syscall.Signal) {
	for _, pid := range descendants() {
		_ = unix.Kill(pid, s)
	}
}

// forward passes a signal on. On a terminal the command has those of its keys already, with the rest of the group.
func (ch *child) forward(s syscall.Signal) {
	if !ch.terminal || s != unix.SIGINT && s != unix.SIGQUIT {
		ch.signal(s)
	}
}

// terminate asks the command and all its descendants to end, those that are stopped too.
func (ch *child) terminate() {
	ch.signal(unix.SIGTERM)
	ch.signal(unix.SIGCONT)
}

// reap takes the ended command away and returns its exit code: its own, or 128 + the signal that ended it.
func (ch *child) reap() int {
	_ = ch.cmd.Wait() // the state below says what became of it
	status := ch.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return status.ExitStatus()
}

// sweep waits until nobody is left of the reaped command's descendants, at latest until a moment of CLOCK_BOOTTIME, then kills
// who is, until nobody is.
func (ch *child) sweep(until time.Duration) {
	for left := descendants(); len(left) > 0; left = descendants() {
		if lease.Boottime() >= until {
			ch.signal(unix.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// onTerminal reports whether this process has a terminal that controls it.
func onTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	_ = tty.Close()
	return true
}

// suspend answers Ctrl-Z: it stops the command with all its descendants, so that nothing works on unguarded, and then this
// process, and returns when that goes on, with the command still stopped: SIGCONT lets it go on. Where no shell could let it go on, it does nothing.
func (ch *child) suspend() {
	if orphaned() {
		return
	}
	ch.signal(unix.SIGSTOP)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // this very thread, so that it does not run on before it stops
	ch.signal(unix.SIGSTOP)                                   // the shell has let all of the group go on
}

// orphaned reports whether no parent in this session looks after this process' group (POSIX: orphaned process group).
func orphaned() bool {
	group, _ := unix.Getpgid(0)
	session, _ := unix.Getsid(0)
	for pid := os.Getppid(); pid > 0; pid = parentOf(pid) {
		if g, err := unix.Getpgid(pid); err != nil || g != group {
			s, err := unix.Getsid(pid)
			return err != nil || s != session
		}
	}
	return true
}
