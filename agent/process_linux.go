// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/supervise"
)

// running is a started command with its output.
type running struct {
	*supervise.Process
	stdout, stderr *os.File
}

// startProcess starts a command with a pipe for each of its outputs. Without stdin it reads from /dev/null.
func startProcess(argv, env []string, stdin []byte) (*running, error) {
	input, err := inputOf(stdin)
	if err != nil {
		return nil, err
	}
	defer input.Close()
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
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, input, outW, errW
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, err := supervise.Start(cmd)
	if err != nil {
		_, _ = outR.Close(), errR.Close()
		return nil, fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	return &running{started, outR, errR}, nil
}

// letGo closes the pipes and has the command reaped as soon as it ends, without waiting for that.
func (p *running) letGo() {
	p.LetGo()
	_, _ = p.stdout.Close(), p.stderr.Close()
}

// inputOf is what a command reads.
func inputOf(content []byte) (*os.File, error) {
	if content == nil {
		return os.Open(os.DevNull)
	}
	return memoryFile(content)
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
