// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal: what a person types into, and what programs run on.
func openTerminal(t *testing.T) (person, programs *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	person = os.NewFile(uintptr(fd), "ptmx")
	programs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return person, programs
}

// startShell starts an interactive shell on a terminal of its own; the person types with it.
func startShell(t *testing.T, f *fakeDaemon) (dir string, typed func(string)) {
	t.Helper()
	person, programs := openTerminal(t)
	dir = t.TempDir()
	shell := exec.Command("bash", "--norc", "-i")
	shell.Dir, shell.Stdin, shell.Stdout, shell.Stderr = dir, programs, programs, programs
	shell.Env = append(os.Environ(), "PICKET_SOCKET="+f.socket, "HISTFILE=")
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	_ = programs.Close()
	read := make(chan struct{})
	var seen []byte
	go func() {
		defer close(read)
		seen, _ = io.ReadAll(person) // ends with an error when the last program has left the terminal
	}()
	t.Cleanup(func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
		<-read
		_ = person.Close()
		if t.Failed() {
			t.Logf("on the terminal: %s", seen)
		}
	})
	return dir, func(s string) {
		if _, err := io.WriteString(person, s); err != nil {
			t.Fatal(err)
		}
	}
}

func exists(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

func TestExecLeavesTheTerminalToItsCommand(t *testing.T) {
	t.Parallel()
	dir, typed := startShell(t, startFake(t))
	typed("picket exec web-01 w1 -- sh -c 'touch ready; read line; echo $line > line'; echo $? > code\n")
	eventually(t, "the command runs", exists(filepath.Join(dir, "ready")))
	typed("hello\n")
	eventually(t, "it ends", exists(filepath.Join(dir, "code")))
	if b, _ := os.ReadFile(filepath.Join(dir, "line")); string(b) != "hello\n" {
		t.Errorf("the command read %q", b)
	}
	typed("picket exec web-01 w1 -- sh -c ': >ready2; exec sleep 60'; echo $? > code2\n")
	eventually(t, "the command runs", exists(filepath.Join(dir, "ready2")))
	typed("\x03") // while dash has forked a command with vfork it misses an interrupt, so it has forked none
	// The shell, seeing 130, goes on with the line; what matters is that it has the terminal again.
	eventually(t, "Ctrl-C ends it", exists(filepath.Join(dir, "code2")))
	typed("touch again\n")
	eventually(t, "the shell has the terminal again", exists(filepath.Join(dir, "again")))
}

// Ctrl-Z stops command and exec together; the claim is looked at before the command goes on, so a held one survives a pause
// longer than its trust.
func TestExecCanBeSuspended(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	dir, typed := startShell(t, f)
	typed("picket exec web-01 w1 -- sh -c 'touch ready; while [ ! -e end ]; do sleep 0.02; done; exit 3'\n")
	eventually(t, "the command runs", exists(filepath.Join(dir, "ready")))
	eventually(t, "picket exec watches, and so hears Ctrl-Z", func() bool { return f.read(func() int { return f.watched }) > 1 })
	typed("\x1a")
	typed("touch stopped\n")
	eventually(t, "the shell has the terminal again", exists(filepath.Join(dir, "stopped")))
	time.Sleep(f.trusted + 200*time.Millisecond)
	typed("fg\n")
	time.Sleep(200 * time.Millisecond)
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	typed("echo $? > code\n")
	eventually(t, "it ends", exists(filepath.Join(dir, "code")))
	if b, _ := os.ReadFile(filepath.Join(dir, "code")); string(b) != "3\n" {
		t.Errorf("exec exits with %q, want 3", b)
	}
}

// Within a pipeline the command may read the terminal, and so may the pipeline's other programs; Ctrl-C ends all of it.
func TestExecInAPipelineSharesTheTerminal(t *testing.T) {
	t.Parallel()
	dir, typed := startShell(t, startFake(t))
	typed("echo x | picket exec web-01 w1 -- sh -c 'touch ready; read line </dev/tty; echo $line > line'; echo $? > code\n")
	eventually(t, "the command runs", exists(filepath.Join(dir, "ready")))
	typed("hello\n")
	eventually(t, "it ends", exists(filepath.Join(dir, "code")))
	if b, _ := os.ReadFile(filepath.Join(dir, "line")); string(b) != "hello\n" {
		t.Errorf("the command read %q", b)
	}
	typed("picket exec web-01 w1 -- echo y | sh -c 'touch ready2; read line </dev/tty; echo $line > line2'\n")
	eventually(t, "the reader runs", exists(filepath.Join(dir, "ready2")))
	typed("again\n")
	eventually(t, "the reader reads", exists(filepath.Join(dir, "line2")))
	typed("echo x | picket exec web-01 w1 -- sh -c ': >ready3; read line </dev/tty'\n")
	eventually(t, "the command runs", exists(filepath.Join(dir, "ready3")))
	typed("\x03")
	eventually(t, "Ctrl-C ends it", func() bool {
		typed("touch ended\n") // what is typed before the interrupt is thrown away by the terminal
		return exists(filepath.Join(dir, "ended"))()
	})
}
