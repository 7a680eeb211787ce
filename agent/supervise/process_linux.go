// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package supervise

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a started program, the leader of its process group.
type Process struct {
	cmd     *exec.Cmd
	ended   chan struct{} // closes when the program has ended
	letGo   func()        // has it reaped when it has ended
	reaping chan struct{} // letGo closes it
	reaped  chan struct{} // closes when it is gone
}

// Start starts a program in a process group of its own. Who starts one calls Reap or LetGo in the end. Its error is that of cmd.Start.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return start(cmd)
}

func start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{}), reaping: make(chan struct{}), reaped: make(chan struct{})}
	p.letGo = sync.OnceFunc(func() { close(p.reaping) })
	started := make(chan error)
	go p.attend(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// attend starts the program and stays on its thread until it is reaped: PDEATHSIG goes off when the thread that forked ends.
func (p *Process) attend(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.reaped)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	for unix.Waitid(unix.P_PID, p.ID(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	close(p.ended)
	<-p.reaping
	_ = p.cmd.Wait() // its state says what became of it
}

// ID is the program's process id, and its group's.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Ended closes when the program has ended. Others of its group may go on.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Signal sends s to the whole group, as long as its leader was not reaped.
func (p *Process) Signal(s syscall.Signal) { _ = unix.Kill(-p.ID(), s) }

// Terminate asks the group to end, those of it that are stopped too.
func (p *Process) Terminate() {
	p.Signal(unix.SIGTERM)
	p.Signal(unix.SIGCONT)
}

// End ends the group: TERM, and KILL when the program has ended or after grace. It returns when the program has ended.
func (p *Process) End(grace time.Duration) {
	p.Terminate()
	select {
	case <-p.ended:
	case <-time.After(grace):
	}
	p.Signal(unix.SIGKILL) // also what is left of the group when its leader obeyed
	<-p.ended
}

// Reap waits until the program has ended, takes it away, and returns how it ended. No signal reaches its group afterwards.
func (p *Process) Reap() syscall.WaitStatus {
	p.letGo()
	<-p.reaped
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// LetGo has the program reaped as soon as it ends, without waiting for that.
func (p *Process) LetGo() { p.letGo() }

// Member is a process of a group.
type Member struct {
	PID  int
	Name string // as the process chose it
}

// AwaitAlone waits until nothing of the group is left, and returns what still is after that time.
func (p *Process) AwaitAlone(within time.Duration) []Member {
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		left := p.members()
		if len(left) == 0 || !time.Now().Before(end) {
			return left
		}
	}
}

// members are those of the group that have not ended, the leader too. /proc may hide those of other users.
func (p *Process) members() (all []Member) {
	eachProcess(func(s stat) {
		if s.group == p.ID() && !s.over() {
			all = append(all, Member{s.pid, s.name})
		}
	})
	return all
}

// codeOf is a process' own exit code, or 128 and the signal that ended it.
func codeOf(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
