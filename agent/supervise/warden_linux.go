// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package supervise

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// WardenWord is how StartTree starts the warden, by this binary, whose main calls Warden: picket warden-word GROUP PROGRAM ARGV…, with the far end of a link as descriptor 3. The
// warden is the command's parent, and who loses its parent among the command's descendants becomes the warden's child. So when exec is
// killed, whose claim is then another's, the warden finds all of them, and kills them. When the warden is killed the command ends, and
// the others are exec's.
const (
	WardenWord = "warden-word"
	wardenLink = 3
)

// exitInternal is the warden's exit code when it cannot do its work.
const exitInternal = 125

// wardenCommand is a warden for a command. It tells on the link, whose near end is returned, how the start went; that it closes is how
// it hears that exec has ended. With group, warden and command lead a group each.
func wardenCommand(path string, argv, env []string, group bool) (cmd *exec.Cmd, near, far *os.File, err error) {
	link, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	near, far = os.NewFile(uintptr(link[0]), "link"), os.NewFile(uintptr(link[1]), "link")
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{os.Args[0], WardenWord, strconv.FormatBool(group), path}, argv...), Env: env,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: []*os.File{far},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: group},
	}, near, far, nil
}

// startOf reads from the link how the command's start went.
func startOf(link *os.File) error {
	var errno uint32
	if err := binary.Read(link, binary.NativeEndian, &errno); err != nil {
		return errors.New("what looks after it has ended")
	} else if errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// Warden is a warden's main, with what stands behind WardenWord: it runs a command to its end and returns its exit code.
func Warden(args []string) int {
	if len(args) < 3 {
		return exitInternal
	}
	group, path, argv := args[0] == "true", args[1], args[2:]
	runtime.LockOSThread() // PDEATHSIG goes off when the thread that forked ends
	syscall.CloseOnExec(wardenLink)
	signal.Notify(make(chan os.Signal, 1), Forwarded()...) // they are for the command, where they are at their default
	pid, err := 0, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if err == nil {
		pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGKILL},
		})
	}
	link := os.NewFile(wardenLink, "link")
	var errno syscall.Errno
	errors.As(err, &errno)
	if _, told := link.Write(binary.NativeEndian.AppendUint32(nil, uint32(errno))); told == nil && err != nil {
		return exitInternal
	}
	ended, gone := make(chan int, 1), make(chan struct{})
	go func() { ended <- reapUntil(pid) }()
	go func() {
		_, _ = link.Read(make([]byte, 1))
		close(gone)
	}()
	select {
	case <-gone:
	case code := <-ended:
		if !hungUp(wardenLink) {
			return code
		}
	}
	for left := descendants(); len(left) > 0; left = descendants() {
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return exitInternal // nobody is left to hear it
}

// reapUntil reaps children until a command has ended, and returns its exit code.
func reapUntil(command int) int {
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, 0, nil); {
		case err != nil && !errors.Is(err, unix.EINTR):
			return exitInternal
		case pid == command:
			return codeOf(syscall.WaitStatus(status))
		}
	}
}

// hungUp reports whether the other end of a link is.
func hungUp(fd int32) bool {
	at := []unix.PollFd{{Fd: fd, Events: unix.POLLRDHUP}}
	n, err := unix.Poll(at, 0)
	return err == nil && n > 0
}

// Forwarded are the signals that are passed on to the command and its descendants, but for those that this process was told to ignore
// (nohup) and its command with it.
func Forwarded() []os.Signal {
	var signals []os.Signal
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
		syscall.SIGCONT,
	} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}
