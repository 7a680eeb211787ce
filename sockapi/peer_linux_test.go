// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/process"
)

// TestMain lets the test binary stand in for an agent: with a socket in its environment it connects and waits to be killed.
func TestMain(m *testing.M) {
	if socket := os.Getenv("SOCKAPI_TEST_CONNECT"); socket != "" {
		c, err := net.Dial("unix", socket)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_, _ = c.Read(make([]byte, 1))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// agent starts a process that connects, as a user.
func agent(t *testing.T, socket string, attr *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"SOCKAPI_TEST_CONNECT=" + socket}
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Skipf("this needs root: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// TestPeer: uid, pid and process of a connection are those of the process that made it, and its end is seen.
func TestPeer(t *testing.T) {
	t.Parallel()
	socket, accepted, _ := accepting(t, newLimits(4, 4))
	cmd := agent(t, socket, nil)
	peer := (<-accepted).(*conn).peer
	if peer.PID != cmd.Process.Pid || peer.UID != uint32(os.Getuid()) || peer.Foreign {
		t.Errorf("got %+v, want process %d of user %d", peer, cmd.Process.Pid, os.Getuid())
	}
	if peer.Process == nil || peer.Process.PID() != peer.PID {
		t.Fatalf("got the process %+v", peer.Process)
	}
	must(t, cmd.Process.Kill())
	<-peer.Process.Exited()
}

// TestPeerOfAnotherUser: the kernel's word for the uid counts, and 65534 may be anybody.
func TestPeerOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("this needs root")
	}
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o755))
	socket := filepath.Join(dir, "s")
	raw, err := net.Listen("unix", socket)
	must(t, err)
	must(t, os.Chmod(socket, 0o666))
	ln := newListener(raw, newLimits(4, 4), quiet())
	defer ln.Close()
	agent(t, socket, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: engine.Nobody, Gid: engine.Nobody}})
	waitConnected(t, socket)
	agent(t, socket, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}})
	c, err := ln.Accept() // skips the first
	must(t, err)
	if uid := c.(*conn).peer.UID; uid != 12345 {
		t.Errorf("the peer is user %d", uid)
	}
	_ = c.Close()
}

// TestF25_PeerInAnotherPIDNamespace: what a container's process calls a pid means nothing here.
func TestF25_PeerInAnotherPIDNamespace(t *testing.T) {
	t.Parallel()
	socket, accepted, _ := accepting(t, newLimits(4, 4))
	agent(t, socket, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID})
	if peer := (<-accepted).(*conn).peer; !peer.Foreign || peer.Mapped {
		t.Errorf("got %+v, want it foreign, with a user of this host", peer)
	}
}

// TestPeerInAnotherUserNamespace: its user is one of many that one user may be.
func TestPeerInAnotherUserNamespace(t *testing.T) {
	t.Parallel()
	socket, accepted, _ := accepting(t, newLimits(4, 4))
	one := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	agent(t, socket, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}})
	if peer := (<-accepted).(*conn).peer; !peer.Foreign || !peer.Mapped {
		t.Errorf("got %+v, want it foreign and mapped", peer)
	}
}

// TestF25_ReusedPID: where the kernel has no pidfd for a peer, a process that started after the connection is not it.
func TestF25_ReusedPID(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var now unix.Timespec
	must(t, unix.ClockGettime(unix.CLOCK_BOOTTIME, &now))
	p, err := openByPID(cmd.Process.Pid, time.Duration(now.Nano()))
	must(t, err)
	p.Close()
	if _, err := openByPID(cmd.Process.Pid, time.Duration(now.Nano())-time.Minute); err != process.ErrNone {
		t.Errorf("got %v, want that there is no such process", err)
	}
}

// TestPeerThatIsGone: a connection whose process has ended is still answered.
func TestPeerThatIsGone(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	raw, err := net.Listen("unix", socket)
	must(t, err)
	ln := newListener(raw, newLimits(4, 4), quiet())
	defer ln.Close()
	cmd := agent(t, socket, nil)
	// It is in the backlog once it waits in its read; a process that has not connected yet is not killed.
	waitConnected(t, socket)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	c, err := ln.Accept()
	must(t, err)
	defer c.Close()
	if peer := c.(*conn).peer; peer.Process != nil || peer.UID != uint32(os.Getuid()) || !peer.Foreign || !peer.Mapped {
		t.Errorf("got %+v, want it foreign: nobody can tell any more from where it connected", peer)
	}
}

// waitConnected waits until the kernel lists a second socket of that name: one that connected.
func waitConnected(t *testing.T, socket string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		list, err := os.ReadFile("/proc/net/unix")
		must(t, err)
		if strings.Count(string(list), " "+socket+"\n") >= 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody connected")
		}
		time.Sleep(time.Millisecond)
	}
}
