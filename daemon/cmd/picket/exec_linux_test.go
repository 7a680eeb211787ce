// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// execution is a running picket exec.
type execution struct {
	t    *testing.T
	cmd  *exec.Cmd
	errs bytes.Buffer
	dir  string // working folder of the command
}

// startExec runs a shell script under picket exec.
func startExec(t *testing.T, f *fakeDaemon, script string) *execution {
	t.Helper()
	e := &execution{t: t, dir: t.TempDir()}
	e.cmd = exec.Command("picket", "exec", "--socket", f.socket, "web-01", "w1", "--", "sh", "-c", script)
	e.cmd.Dir, e.cmd.Stderr = e.dir, &e.errs
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	e.cmd.WaitDelay = time.Minute                          // for a test that leaves processes with its pipe behind
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if e.cmd.ProcessState == nil {
			_ = e.cmd.Process.Kill()
			_ = e.cmd.Wait()
		}
	})
	return e
}

// pid waits for a file with the id of a process that the script wrote.
func (e *execution) pid(name string) int {
	e.t.Helper()
	var pid int
	eventually(e.t, "the script writes "+name, func() bool {
		b, _ := os.ReadFile(filepath.Join(e.dir, name))
		line, ok := strings.CutSuffix(string(b), "\n")
		pid, _ = strconv.Atoi(line)
		return ok
	})
	return pid
}

func (e *execution) exits(want int) {
	e.t.Helper()
	late := time.AfterFunc(time.Minute, func() { _ = e.cmd.Process.Kill() })
	defer late.Stop()
	_ = e.cmd.Wait()
	if got := e.cmd.ProcessState.ExitCode(); got != want {
		e.t.Fatalf("picket exec exits with %d, want %d; it says: %s", got, want, &e.errs)
	}
}

func (e *execution) signal(s syscall.Signal) {
	e.t.Helper()
	if err := e.cmd.Process.Signal(s); err != nil {
		e.t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// gone reports whether a process has ended; a zombie has.
func gone(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

func TestExecExitsWithTheCommandsOwnCode(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"exit 0": 0, "exit 42": 42, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			f := startFake(t)
			startExec(t, f, script).exits(want)
			if n := f.read(func() int { return f.released }); n != 1 {
				t.Errorf("the claim was released %d times, want once", n)
			}
		})
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, `env | grep ^PICKET_ | sort > env`)
	e.exits(0)
	b, err := os.ReadFile(filepath.Join(e.dir, "env"))
	want := "PICKET_ASSET=web-01\nPICKET_CLAIM=c1\nPICKET_SOCKET=" + f.socket +
		"\nPICKET_STATE=INIT\nPICKET_TASK=w1\nPICKET_TICKET=web-01/w1\nPICKET_TOKEN=7\n"
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v; want %s", b, err, want)
	}
}

func TestExecForwardsSignalsToTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			// A background process of a shell ignores INT and QUIT, so one that asks for the signal stands for the group.
			e := startExec(t, startFake(t), `trap 'exit 9' `+strconv.Itoa(int(sig))+`
				(trap 'exit 0' `+strconv.Itoa(int(sig))+`; sh -c 'echo $PPID' > member; while :; do sleep 0.02; done) &
				while [ ! -s member ]; do sleep 0.02; done; echo $$ > leader
				while :; do sleep 0.02; done`)
			e.pid("leader")
			member := e.pid("member")
			e.signal(sig)
			e.exits(9)
			if sig != unix.SIGINT && sig != unix.SIGQUIT {
				eventually(t, "the member ends", func() bool { return gone(member) })
			} else {
				_ = unix.Kill(member, unix.SIGKILL)
			}
		})
	}
}

func TestExecDiesWithItsCommand(t *testing.T) {
	t.Parallel()
	e := startExec(t, startFake(t), `echo $$ > leader; while :; do sleep 0.02; done`)
	leader := e.pid("leader")
	e.signal(unix.SIGKILL)
	eventually(t, "the command ends with picket exec", func() bool { return gone(leader) })
}

// Who left the group and the environment, and lost its parent, ends with picket exec, too: its claim is then another's.
func TestG7_AllThatWorksUnderAClaimEndsWithPicketExec(t *testing.T) {
	t.Parallel()
	e := startExec(t, startFake(t), `sh -c '(trap "" TERM; setsid env -i /bin/sh -c "trap \"\" TERM; echo \$\$ > member; while :; do sleep 0.02; done") &'
		while [ ! -s member ]; do sleep 0.02; done; echo $$ > leader; while :; do sleep 0.02; done`)
	leader, member := e.pid("leader"), e.pid("member")
	e.signal(unix.SIGKILL)
	eventually(t, "all have ended", func() bool { return gone(leader) && gone(member) })
}

// A program that cannot be started is told by the warden.
func TestExecSaysWhyACommandCannotBeRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("picket", "exec", "--socket", startFake(t).socket, "web-01", "w1", "--", path).CombinedOutput()
	if want := "exec format error"; err == nil || err.(*exec.ExitError).ExitCode() != exitCannotRun || !strings.Contains(string(out), want) {
		t.Errorf("it says %s, %v; want %q", out, err, want)
	}
}

// ignoring is a script whose leader ends at once on TERM while another process of its group ignores it.
const ignoring = `(trap '' TERM; sh -c 'echo $PPID' > member; while :; do sleep 0.02; done) &
	while [ ! -s member ]; do sleep 0.02; done; echo $$ > leader
	while :; do sleep 0.02; done`

func TestF4_ALostClaimEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, ignoring)
	leader, member := e.pid("leader"), e.pid("member")
	f.lose("taken")
	e.exits(exitLost)
	if !gone(leader) || !gone(member) {
		t.Error("a process of the command is left")
	}
	if !strings.Contains(e.errs.String(), "the claim on web-01/w1 was lost (taken)") {
		t.Errorf("it says: %s", &e.errs)
	}
	if n := f.read(func() int { return f.released }); n != 0 {
		t.Errorf("a lost claim was released %d times", n)
	}
}

// Who loses its parent becomes picket exec's, and leaves no zombie behind when it ends.
func TestExecReapsOrphans(t *testing.T) {
	t.Parallel()
	e := startExec(t, startFake(t), `sh -c '(sleep 0.2; sh -c "echo \$PPID" > orphan; sleep 0.1) &'; while [ ! -e end ]; do sleep 0.02; done`)
	orphan := e.pid("orphan")
	eventually(t, "the orphan is reaped", func() bool { return !exists(fmt.Sprintf("/proc/%d", orphan))() })
	if err := os.WriteFile(filepath.Join(e.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e.exits(0)
}

// Who left the group, with a session of its own, or whose parent has ended, works under the claim all the same.
func TestF4_ALostClaimEndsWhoLeftTheGroup(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, `sh -c '(trap "" TERM; setsid sh -c "trap \"\" TERM; echo \$\$ > member; while :; do sleep 0.02; done") &'
		while [ ! -s member ]; do sleep 0.02; done; echo $$ > leader; while :; do sleep 0.02; done`)
	leader, member := e.pid("leader"), e.pid("member")
	f.lose("taken")
	e.exits(exitLost)
	if !gone(leader) || !gone(member) {
		t.Error("a process of the command is left")
	}
}

func TestF4_ACommandThatIgnoresTermIsKilled(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, `trap '' TERM; echo $$ > leader; while :; do sleep 0.02; done`)
	e.pid("leader")
	f.lose("forced")
	e.exits(exitLost)
}

// An answer that was held up on its way must not prolong the trust: its clock started when it was asked for.
func TestF8_TheDeadlineCountsFromWhenTheCallWasSent(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	f.late = 300 * time.Millisecond
	cl := client.New(f.socket)
	t.Cleanup(cl.CloseIdleConnections)
	s := lease.Look(t.Context(), cl, "c1", 0)
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Trust.Until == 0 || s.Trust.Until > f.arrived+f.trusted {
		t.Errorf("trusted until %s, more than %s after the call arrived at %s", s.Trust.Until, f.trusted, f.arrived)
	}
}

// A healthy claim is trusted without a break, though the trust that an answer tells of shrinks from renewal to renewal.
func TestF6_AHealthyClaimIsNeverLost(t *testing.T) {
	t.Parallel()
	startExec(t, startFake(t), `sleep 14; exit 5`).exits(5)
}

func TestF8_TheLocalDeadlineEndsTheCommandOfASilentDaemon(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, ignoring)
	leader, member := e.pid("leader"), e.pid("member")
	eventually(t, "a watch call is answered", func() bool { return f.read(func() int { return f.watched }) > 1 })
	var silent time.Duration
	f.change(func() { f.silent, silent = true, process.Boottime() })
	e.exits(exitLost)
	// The lock's end is at least a margin after the deadline, and what was said last was said before the silence.
	if end := silent + f.trusted + fakeTTL/5; process.Boottime() > end+10*time.Second || !gone(leader) || !gone(member) {
		t.Errorf("the command outlived the lock: %s after the daemon fell silent", process.Boottime()-silent)
	}
}

// A frozen picket exec finds its deadline in the past when it goes on, even when the daemon renewed all the time: nobody had
// looked.
func TestF8_AFrozenExecLooksAtItsDeadlineFirst(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, ignoring)
	member := e.pid("member")
	e.signal(unix.SIGSTOP)
	time.Sleep(f.trusted + 200*time.Millisecond)
	e.signal(unix.SIGCONT)
	e.exits(exitLost)
	if !gone(member) {
		t.Error("a process of the command is left")
	}
}

func TestF6_OneFailedWatchIsNotALoss(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, `echo $$ > leader; while [ ! -e end ]; do sleep 0.02; done`)
	e.pid("leader")
	seen := f.read(func() int { return f.watched })
	f.change(func() { f.silent = true })
	time.Sleep(f.trusted / 3)
	f.change(func() { f.silent = false })
	eventually(t, "watch calls are answered again", func() bool { return f.read(func() int { return f.watched }) > seen+2 })
	if err := os.WriteFile(filepath.Join(e.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e.exits(0)
}

func TestExecGoesOnWhenTheCommandReleasedTheClaim(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	e := startExec(t, f, `echo $$ > leader; while [ ! -e end ]; do sleep 0.02; done; exit 3`)
	e.pid("leader")
	f.change(func() { reason := "released"; f.claim.Status, f.claim.Reason = "released", &reason })
	time.Sleep(f.trusted + 200*time.Millisecond)
	if err := os.WriteFile(filepath.Join(e.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e.exits(3)
}

// TestG8_ACommandWhoseTimeIsOverIsTold, and why: the deadline of its heartbeat or its cap comes with the daemon's word.
func TestG8_ACommandWhoseTimeIsOverIsTold(t *testing.T) {
	t.Parallel()
	h, err := startHost("told", redistest.Start(t).SocketPath(), "told", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	for flag, reason := range map[string]string{"--heartbeat": "silent", "--max-hold": "max_hold"} {
		out, _ := exec.Command("picket", "exec", "--socket", h.socket, flag, "1s", reason, "t", "--", "sleep", "60").CombinedOutput()
		if want := "(" + reason + "): the command is ended"; !strings.Contains(string(out), want) {
			t.Errorf("%s: it says %s", flag, out)
		}
	}
}
