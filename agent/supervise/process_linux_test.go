// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package supervise

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.End(0)
		p.Reap()
	})
	return p
}

// TestEndKillsTheGroup: one that takes no notice of TERM is killed after the grace, with all of its group, also when it is stopped.
func TestEndKillsTheGroup(t *testing.T) {
	t.Parallel()
	ready := filepath.Join(t.TempDir(), "ready")
	p := shell(t, `trap "" TERM; sleep 600 & : >`+ready+`; kill -STOP $$; wait; wait`)
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		s, _ := statOf(p.ID())
		if _, err := os.Stat(ready); err == nil && s.state == 'T' {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it was never stopped")
		}
	}
	if left := p.AwaitAlone(0); len(left) != 2 {
		t.Errorf("of the group are left %v", left)
	}
	p.End(50 * time.Millisecond)
	if left := p.AwaitAlone(time.Minute); len(left) > 0 {
		t.Errorf("they outlived the end: %v", left)
	}
	if status := p.Reap(); status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", status)
	}
}

// TestAnEndedProcessKeepsItsIDUntilItIsReaped: a signal to its group reaches nobody else.
func TestAnEndedProcessKeepsItsIDUntilItIsReaped(t *testing.T) {
	t.Parallel()
	p := shell(t, "exit 3")
	<-p.Ended()
	if s, ok := statOf(p.ID()); !ok || !s.over() || s.group != p.ID() {
		t.Errorf("before it is reaped: %+v, %t", s, ok)
	}
	if status := p.Reap(); status.ExitStatus() != 3 {
		t.Errorf("it ended with %v", status)
	}
	if _, ok := statOf(p.ID()); ok {
		t.Error("it is still there")
	}
}

// TestANameSaysNothingElse: who chooses a process' name cannot make it look like another's child.
func TestANameSaysNothingElse(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "x) Z 1 1 (")
	b, err := os.ReadFile("/bin/sleep")
	if err == nil {
		err = os.WriteFile(program, b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(exec.Command(program, "600"))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := statOf(p.ID())
	p.End(time.Minute)
	p.Reap()
	if !ok || s.name != "x) Z 1 1 (" || s.parent != os.Getpid() || s.group != p.ID() {
		t.Errorf("%+v, %t", s, ok)
	}
}

func TestTheLastLineIsClean(t *testing.T) {
	t.Parallel()
	last := LogLines(strings.NewReader("a\n"+strings.Repeat("x", 3*maxLine)+"\n\x1b[31mred\tand \xff last\n\n"), func(string) {})
	if last != "red and \uFFFD last" {
		t.Errorf("the last line is %q", last)
	}
}

// TestLimit: what fits is read to its end; what does not is an error and never an end.
func TestLimit(t *testing.T) {
	t.Parallel()
	whole := Limit(strings.NewReader("four"), 4)
	if b, err := io.ReadAll(whole); err != nil || string(b) != "four" || !whole.Ended() {
		t.Errorf("%q, %v, ended %t", b, err, whole.Ended())
	}
	more := Limit(strings.NewReader("more than four"), 4)
	if _, err := io.ReadAll(more); err == nil || more.Ended() {
		t.Errorf("%v, ended %t", err, more.Ended())
	}
}
