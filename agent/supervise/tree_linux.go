// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package supervise

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Tree is a command with its warden and all that it starts: all descendants of this process, which therefore has one tree at most, and no
// other child.
type Tree struct {
	Terminal bool // it shares this process' group, and its terminal

	warden *Process // ends as the command does
	link   *os.File // to the warden; it closes with this process
}

// StartTree starts a command under its warden, with this process' standard streams. Without a terminal it leads a process group of its
// own. On a terminal it stays in this process' group, as under nice: the group may be a pipeline's, in which others read the terminal too,
// and the terminal sends Ctrl-C and Ctrl-Z to all of it. An error that is an *fs.PathError is the command's, else it could not be looked
// after.
func StartTree(path string, argv, env []string) (*Tree, error) {
	// Whoever the warden leaves behind becomes a child of this process, so that all are found.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("cannot look after what the command leaves behind: %w", err)
	}
	t := &Tree{Terminal: onTerminal()}
	cmd, near, far, err := wardenCommand(path, argv, env, !t.Terminal)
	if err != nil {
		return nil, fmt.Errorf("cannot look after the command: %w", err)
	}
	t.link = near
	t.warden, err = start(cmd)
	_ = far.Close()
	if err != nil {
		return nil, err
	}
	if err := startOf(near); err != nil {
		t.warden.Reap()
		return nil, &fs.PathError{Op: "exec", Path: path, Err: err}
	}
	return t, nil
}

// Ended closes when the command has ended. Descendants of it may go on.
func (t *Tree) Ended() <-chan struct{} { return t.warden.Ended() }

// Signal sends s to the warden, which takes no notice of what may be caught, the command and all its descendants.
func (t *Tree) Signal(s syscall.Signal) {
	for _, pid := range descendants() {
		_ = unix.Kill(pid, s)
	}
}

// Forward passes a signal on. On a terminal the command has those of its keys already, with the rest of the group.
func (t *Tree) Forward(s syscall.Signal) {
	if !t.Terminal || s != unix.SIGINT && s != unix.SIGQUIT {
		t.Signal(s)
	}
}

// Terminate asks the command and all its descendants to end, those that are stopped too.
func (t *Tree) Terminate() {
	t.Signal(unix.SIGTERM)
	t.Signal(unix.SIGCONT)
}

// Code waits for the command's end, takes it away, and returns its exit code as a shell would.
func (t *Tree) Code() int { return codeOf(t.warden.Reap()) }

// Sweep waits until nobody is left of the tree, and kills who is there as long as due says so.
func (t *Tree) Sweep(due func() bool) {
	for len(descendants()) > 0 {
		if due() {
			t.Signal(unix.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// ReapOrphans takes away who lost its parent, became a child of this process, and has ended; not the warden.
func (t *Tree) ReapOrphans() {
	eachProcess(func(s stat) {
		if s.over() && s.parent == os.Getpid() && s.pid != t.warden.ID() {
			_, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil)
		}
	})
}

// Suspend answers Ctrl-Z: it stops the command with all its descendants, so that nothing works on unguarded, and then this
// process, and returns when that goes on, with the command still stopped: SIGCONT lets it go on. Where no shell could let it go on, it does nothing.
func (t *Tree) Suspend() {
	if orphaned() {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.Signal(unix.SIGSTOP)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // this very thread, so that it does not run on before it stops
	t.Signal(unix.SIGSTOP)                                    // the shell has let all of the group go on
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
