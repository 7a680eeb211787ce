// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// role is the environment variable that tells the program's copies apart. What is started inside inherits it, so that Enter in a
// process of the world does nothing.
const role = "PICKET_PROOF_STAGE"

// Enter re-executes the program in PID, mount and network namespaces of its own, and ends with its status: it returns only inside, or
// when that is not possible. There, /run is empty and private, /proc is the namespace's own, and everything that was started ends with
// the program, however that ends. It needs root.
func Enter() error {
	switch os.Getenv(role) {
	case "inside":
		return nil
	case "reaper":
		status, err := reap()
		if err != nil {
			fmt.Fprintln(os.Stderr, "cannot prepare the namespaces:", err)
		}
		os.Exit(status)
	}
	if os.Geteuid() != 0 {
		return errors.New("cannot make namespaces: only root may")
	}
	runtime.LockOSThread() // the reaper is to end with this thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), role+"=reaper")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC, Pdeathsig: unix.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot make namespaces: %w", err)
	}
	pass(cmd.Process.Pid)
	err := cmd.Wait()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		return err
	}
	os.Exit(code(cmd.ProcessState.Sys().(syscall.WaitStatus)))
	return nil
}

// pass hands the signals by which people end a program on to a child.
func pass(child int) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	go func() {
		for s := range signals {
			_ = unix.Kill(child, s.(unix.Signal))
		}
	}()
}

// reap is the life of the namespace's first process: it starts the program once more, and reaps what has lost its parent.
func reap() (status int, err error) {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"stage", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return 1, fmt.Errorf("mount on %s: %w", m.target, err)
		}
	}
	if err := prepareNetwork(context.Background()); err != nil {
		return 1, err
	}
	if err := os.Setenv(role, "inside"); err != nil {
		return 1, err
	}
	child, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 1, err
	}
	pass(child)
	for {
		var ended syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &ended, 0, nil); {
		case err != nil && !errors.Is(err, unix.EINTR):
			return 1, err
		case pid == child:
			return code(ended), nil
		}
	}
}

// code is a status as a shell tells it.
func code(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}
