// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package process

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childProcess is a real process that lives until it is killed.
func childProcess(t *testing.T, name string, arg ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, arg...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func mustOpen(t *testing.T, pid int) *Process {
	t.Helper()
	p, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// openPolled opens a process as on a kernel that answers pidfd_open with this error.
func openPolled(pid int, errno error) (*Process, error) {
	return open(pid, func(int, int) (int, error) { return -1, errno })
}

func wantAlive(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Exited():
		t.Fatal("the process is said to have ended")
	case <-time.After(30 * time.Millisecond):
	}
}

func wantEnded(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(time.Minute):
		t.Fatal("the process is not said to have ended")
	}
}

func TestG7_ProcessEndsWhenItIsKilled(t *testing.T) {
	t.Parallel()
	cmd := childProcess(t, "sleep", "1000")
	p := mustOpen(t, cmd.Process.Pid)
	if p.PID() != cmd.Process.Pid || p.UID() != uint32(os.Geteuid()) || p.StartTime() == 0 || p.Foreign() {
		t.Errorf("pid %d, uid %d, start %d, foreign %t", p.PID(), p.UID(), p.StartTime(), p.Foreign())
	}
	wantAlive(t, p)
	_ = cmd.Process.Kill() // and not waited for: a zombie has ended
	wantEnded(t, p)
	wantEnded(t, p)
	if _, err := Open(cmd.Process.Pid); !errors.Is(err, ErrNone) {
		t.Errorf("a zombie: %v", err)
	}
	if _, err := openPolled(cmd.Process.Pid, unix.ENOSYS); !errors.Is(err, ErrNone) {
		t.Errorf("a zombie, without pidfd: %v", err)
	}
	_ = cmd.Wait()
	if _, err := Open(cmd.Process.Pid); !errors.Is(err, ErrNone) {
		t.Errorf("an ended process: %v", err)
	}
}

func TestG7_ProcessThatEndedBeforeItWasWatched(t *testing.T) {
	t.Parallel()
	cmd := childProcess(t, "sleep", "1000")
	p := mustOpen(t, cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wantEnded(t, p)
}

func TestG7_StoppedProcessHasNotEnded(t *testing.T) {
	t.Parallel()
	cmd := childProcess(t, "sleep", "1000")
	p := mustOpen(t, cmd.Process.Pid)
	_ = cmd.Process.Signal(unix.SIGSTOP)
	wantAlive(t, p)
}

func TestG7_ProcessWithoutPidfdIsPolled(t *testing.T) {
	t.Parallel()
	for _, errno := range []error{unix.ENOSYS, unix.EINVAL, unix.ENOPROTOOPT, unix.EPERM} {
		cmd := childProcess(t, "sleep", "1000")
		p, err := openPolled(cmd.Process.Pid, errno)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if p.StartTime() != mustOpen(t, cmd.Process.Pid).StartTime() || p.UID() != uint32(os.Geteuid()) {
			t.Errorf("start %d, uid %d", p.StartTime(), p.UID())
		}
		wantAlive(t, p)
		_ = cmd.Process.Kill()
		wantEnded(t, p)
	}
	for errno, want := range map[error]error{unix.ESRCH: ErrNone, unix.EMFILE: unix.EMFILE} {
		if p, err := openPolled(os.Getpid(), errno); !errors.Is(err, want) || p != nil {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

func TestF25_ReusedPIDIsNotTheProcess(t *testing.T) {
	t.Parallel()
	cmd := childProcess(t, "sleep", "1000")
	p, err := openPolled(cmd.Process.Pid, unix.ENOSYS)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.start++ // as if the pid had been given to another since
	wantEnded(t, p)

	// The pid changes hands while it is opened: the start time read before is another's.
	other, err := open(cmd.Process.Pid, unix.PidfdOpen)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.describeByPID(procStat{start: other.StartTime() - 1}); !errors.Is(err, ErrNone) {
		t.Errorf("another start time before: %v", err)
	}
}

func TestOpenProcessRefusesWhatIsNoProcess(t *testing.T) {
	t.Parallel()
	tid := make(chan int)
	stay := make(chan struct{})
	defer close(stay)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		tid <- unix.Gettid()
		<-stay
	}()
	thread := <-tid
	if thread == os.Getpid() {
		t.Skip("the goroutine got the main thread")
	}
	for _, pid := range []int{0, -1, -unix.Getpid(), 1 << 30, thread} {
		if p, err := Open(pid); !errors.Is(err, ErrNone) || p != nil {
			t.Errorf("pid %d: %v", pid, err)
		}
		if p, err := openPolled(pid, unix.EINVAL); !errors.Is(err, ErrNone) || p != nil {
			t.Errorf("pid %d, without pidfd: %v", pid, err)
		}
	}
}

func TestHandlesShareOneProcess(t *testing.T) {
	t.Parallel()
	cmd := childProcess(t, "sleep", "1000")
	first := mustOpen(t, cmd.Process.Pid)
	second := first.Retain()
	first.Close()
	first.Close() // counts once
	wantAlive(t, second)
	third := second.Retain()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(third.Close)
	}
	wg.Wait()
	_ = cmd.Process.Kill()
	wantEnded(t, second)
	second.Close()
	wantEnded(t, second)
}

func TestCloseEndsTheGoroutineAndThePidfd(t *testing.T) {
	t.Parallel()
	for name, openIt := range map[string]func(int) (*Process, error){
		"pidfd":  Open,
		"polled": func(pid int) (*Process, error) { return openPolled(pid, unix.ENOSYS) },
	} {
		p, err := openIt(childProcess(t, "sleep", "1000").Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		exited := p.Exited()
		p.Close()
		p.Close()
		if p.waiting == nil {
			t.Fatalf("%s: nothing was started", name)
		}
		<-p.waiting // or the test hangs
		select {
		case <-exited:
			t.Errorf("%s: a closed handle says that the process ended", name)
		default:
		}
		if p.pidfd != nil {
			if _, err := p.pidfd.SyscallConn(); err == nil {
				if err := p.await(); err == nil {
					t.Errorf("%s: the pidfd is open still", name)
				}
			}
		}
	}
	p := mustOpen(t, childProcess(t, "sleep", "1000").Process.Pid)
	p.Close()
	if p.Exited(); p.waiting != nil {
		t.Error("a closed handle starts a goroutine")
	}
}

func TestManyProcessesWaitWithoutThreads(t *testing.T) {
	cmd := childProcess(t, "sleep", "1000")
	before := threadCount(t)
	var all []*Process
	for range 300 {
		p := mustOpen(t, cmd.Process.Pid)
		p.Exited()
		all = append(all, p)
	}
	time.Sleep(20 * time.Millisecond)
	if after := threadCount(t); after > before+50 {
		t.Errorf("%d threads, before 300 processes: %d", after, before)
	}
	_ = cmd.Process.Kill()
	for _, p := range all {
		wantEnded(t, p)
	}
}

func threadCount(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}

// The test runs itself again as a peer that connects, says one byte, and waits to be told to go.
func TestFromFDOfAPeer(t *testing.T) {
	if path := os.Getenv("PICKET_TEST_PEER"); path != "" {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte{1})
		_, _ = c.Read(make([]byte, 1))
		return
	}
	t.Parallel()
	for _, unshare := range []bool{false, true} {
		t.Run(fmt.Sprintf("unshare=%t", unshare), func(t *testing.T) {
			t.Parallel()
			cmd, conn := peerProcess(t, unshare)
			cred, fd := peerOf(t, conn)
			p, err := FromFD(fd, int(cred.Pid), cred.Uid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if p.PID() != int(cred.Pid) || p.UID() != uint32(os.Geteuid()) || p.StartTime() == 0 {
				t.Errorf("pid %d, uid %d, start %d", p.PID(), p.UID(), p.StartTime())
			}
			if other := mustOpen(t, int(cred.Pid)); other.StartTime() != p.StartTime() || other.Foreign() != unshare {
				t.Errorf("by pid: start %d, foreign %t; by pidfd: start %d", other.StartTime(), other.Foreign(), p.StartTime())
			}
			if p.Foreign() != unshare {
				t.Errorf("foreign: %t", p.Foreign())
			}
			wantAlive(t, p)
			another, err := unix.Dup(fd)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte{1})
			wantEnded(t, p)
			_ = cmd.Wait()
			if p, err := FromFD(another, int(cred.Pid), cred.Uid); !errors.Is(err, ErrNone) || p != nil {
				t.Errorf("an ended peer: %v", err)
			}
			if _, err := unix.FcntlInt(uintptr(another), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
				t.Errorf("the pidfd of a failed call was not closed: %v", err)
			}
		})
	}
}

func TestFromFDOfAnotherProcessIsRefused(t *testing.T) {
	t.Parallel()
	fd, err := unix.PidfdOpen(childProcess(t, "sleep", "1000").Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := FromFD(fd, os.Getpid(), 0); !errors.Is(err, ErrNone) || p != nil {
		t.Errorf("a pid and a pidfd that do not belong together: %v", err)
	}
}

func peerProcess(t *testing.T, unshare bool) (*exec.Cmd, *net.UnixConn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFromFDOfAPeer$")
	cmd.Env = append(os.Environ(), "PICKET_TEST_PEER="+l.Addr().String())
	if unshare {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	}
	if err := cmd.Start(); err != nil {
		if unshare && errors.Is(err, unix.EPERM) {
			t.Skip("cannot make a PID namespace without root")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd, conn.(*net.UnixConn)
}

func peerOf(t *testing.T, conn *net.UnixConn) (cred *unix.Ucred, pidfd int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var credErr, fdErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		pidfd, fdErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	})
	if err := errors.Join(err, credErr); err != nil {
		t.Fatal(err)
	}
	if errors.Is(fdErr, unix.ENOPROTOOPT) || errors.Is(fdErr, unix.EINVAL) { // before 6.5
		pidfd, fdErr = unix.PidfdOpen(int(cred.Pid), 0)
	}
	if fdErr != nil {
		t.Fatal(fdErr)
	}
	return cred, pidfd
}

// A real process whose name holds what parts the fields.
func TestOpenProcessOfAnyCommandName(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(t.TempDir(), "a) Z 1 (b")
	if err := os.Symlink(sleep, odd); err != nil {
		t.Fatal(err)
	}
	p := mustOpen(t, childProcess(t, odd, "1000").Process.Pid)
	if uptime := uint64(Boottime() / (10 * time.Millisecond)); p.StartTime() > uptime || p.StartTime()+6000 < uptime {
		t.Errorf("started at tick %d, it is %d now", p.StartTime(), uptime)
	}
}
