// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/plain"
)

// process is a started command, the leader of its group.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *os.File
	ended          chan struct{} // closes when the leader has ended; it stays a zombie until reap, so that its id is not used again
	reaping        chan struct{} // reap closes it
	reaped         chan struct{} // closes when it is gone
}

func (in *invocation) start() (*process, error) {
	stdin, err := in.input()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer outW.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = outR.Close()
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer errW.Close()
	p := &process{
		cmd: exec.Command(in.argv[0], in.argv[1:]...), stdout: outR, stderr: errR,
		ended: make(chan struct{}), reaping: make(chan struct{}), reaped: make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in.env, stdin, outW, errW
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go p.attend(started)
	if err := <-started; err != nil {
		_, _ = outR.Close(), errR.Close()
		return nil, fmt.Errorf("cannot run %s: %w", in.argv[0], err)
	}
	return p, nil
}

// attend starts the command and stays on its thread until it is reaped: PDEATHSIG goes off when the thread that forked ends.
func (p *process) attend(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.reaped)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	close(p.ended)
	<-p.reaping
	_ = p.cmd.Wait() // status says what became of it
}

// signal sends s to the whole group, as long as its leader was not reaped.
func (p *process) signal(s syscall.Signal) { _ = unix.Kill(-p.cmd.Process.Pid, s) }

// status is how the leader ended, which must have.
func (p *process) status() syscall.WaitStatus {
	p.reap()
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// reap takes the ended leader away. It may be called twice, by the goroutine that started the command.
func (p *process) reap() {
	p.letGo()
	<-p.reaped
}

// letGo closes the pipes and has the leader reaped as soon as it ends, without waiting for that.
func (p *process) letGo() {
	select {
	case <-p.reaping:
	default:
		close(p.reaping)
	}
	_, _ = p.stdout.Close(), p.stderr.Close()
}

// member is a process of a group.
type member struct {
	pid  int
	name string
}

// members are those of the group that have not ended, the leader too. /proc may hide those of other users.
func (p *process) members() []member {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []member
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat") // pid (name) state ppid pgrp …
		end := bytes.LastIndexByte(stat, ')')
		if err != nil || end < 0 {
			continue
		}
		fields := strings.Fields(string(stat[end+1:]))
		if len(fields) < 3 || fields[0] == "Z" || fields[0] == "X" || fields[2] != strconv.Itoa(p.cmd.Process.Pid) {
			continue
		}
		_, name, _ := strings.Cut(string(stat[:end]), "(")
		all = append(all, member{pid, plain.Line(name, 0)})
	}
	return all
}

// awaitAlone waits until nothing of the group is left, and returns what still is after that time.
func (p *process) awaitAlone(within time.Duration) []member {
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		left := p.members()
		if len(left) == 0 || !time.Now().Before(end) {
			return left
		}
	}
}

// input is what the command has for standard input.
func (in *invocation) input() (*os.File, error) {
	if in.stdin == nil {
		return os.Open(os.DevNull)
	}
	return memoryFile(in.stdin)
}

// memoryFile is a file in memory with that content, to be read from its beginning.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("ticket", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "ticket")
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("cannot fill a file in memory: %w", err)
	}
	return f, nil
}
