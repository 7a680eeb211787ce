// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/supervise"
	"github.com/picketd/picket/engine/process"
)

// shell runs a script and returns what it wrote to standard output and what was logged.
func shell(ctx context.Context, in invocation, script string, args ...string) (out string, logged []string, err error) {
	var mu sync.Mutex
	in.argv = append([]string{"/bin/sh", "-c", script, "sh"}, args...)
	in.env = os.Environ()
	in.stderr = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, line)
	}
	if in.okExit == nil {
		in.okExit = []int{0}
	}
	if in.limit == 0 {
		in.limit = 1 << 20
	}
	if in.consume == nil {
		in.consume = func(r io.Reader) error {
			b, err := io.ReadAll(r)
			out = string(b)
			return err
		}
	}
	err = in.run(ctx)
	return out, logged, err
}

func alive(t *testing.T, file string) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestACommandIsGivenTheTicketAndItsArguments(t *testing.T) {
	t.Parallel()
	asset := "web 01'; \"$(id)\" \\\n*"
	out, logged, err := shell(t.Context(), invocation{stdin: []byte(`{"id": "x"}`)}, `cat; printf '|%s|%d' "$1" $#; echo to the log >&2`, asset)
	if want := `{"id": "x"}|` + asset + `|1`; err != nil || out != want {
		t.Errorf("it got %q, %v, want %q", out, err, want)
	}
	if !slices.Equal(logged, []string{"to the log"}) {
		t.Errorf("logged was %q", logged)
	}
}

// TestAScannerFindsNothingOnStandardInput: a character device, which nuclei does not read targets from.
func TestAScannerFindsNothingOnStandardInput(t *testing.T) {
	t.Parallel()
	if out, _, err := shell(t.Context(), invocation{}, `[ -c /dev/stdin ] && cat | wc -c`); err != nil || strings.TrimSpace(out) != "0" {
		t.Errorf("it found %q, %v", out, err)
	}
}

func TestHowACommandEndsIsTold(t *testing.T) {
	t.Parallel()
	reading := errors.New("cut off")
	refuse := func(io.Reader) error { return reading }
	for name, c := range map[string]struct {
		script string
		in     invocation
		want   string
		is     error
	}{
		"good":             {"echo", invocation{}, "", nil},
		"its own good":     {"exit 2", invocation{okExit: []int{0, 2}}, "", nil},
		"a code":           {"echo why >&2; exit 2", invocation{}, "/bin/sh ended with 2, which is not among ok_exit [0]: why", nil},
		"a signal":         {"kill -9 $$", invocation{}, "/bin/sh was ended by signal 9 (killed)", nil},
		"later":            {"exit 75", invocation{}, "", errLater},
		"not whole":        {"echo x", invocation{consume: refuse}, "the output of /bin/sh cannot be used: cut off", reading},
		"not whole, code":  {"echo x; exit 2", invocation{consume: refuse}, "/bin/sh ended with 2, which is not among ok_exit [0]", nil},
		"not whole, hangs": {"echo x; sleep 600", invocation{consume: refuse}, "the output of /bin/sh cannot be used: cut off", reading},
		"too large":        {"head -c 3000000 /dev/zero", invocation{}, "the output of /bin/sh cannot be used: it is too large: more than 1 MiB", supervise.ErrTooLarge},
		"endless":          {"cat /dev/zero", invocation{}, "the output of /bin/sh cannot be used: it is too large: more than 1 MiB", supervise.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := shell(t.Context(), c.in, c.script)
			if c.want == "" && c.is == nil && err != nil || c.want != "" && (err == nil || err.Error() != c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("it ends with %v, want %s", err, c.want)
			}
		})
	}
}

// TestACommandsGroupEndsWithIt: on a time-out, and what it left in the background when it has ended by itself. That was not
// finished then, whatever has been written.
func TestACommandsGroupEndsWithIt(t *testing.T) {
	t.Parallel()
	late := errors.New("late")
	for name, script := range map[string]string{
		"a time-out":             "sleep 600 & echo $! >$1; wait",
		"deaf":                   "trap '' TERM; sleep 600 & echo $! >$1; wait; wait",
		"left in the background": "sleep 600 & echo $! >$1",
		"left, with its output":  "sleep 600 >/dev/null 2>&1 & echo $! >$1; echo x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, _, err := shell(ctx, invocation{}, script, pid)
				ended <- err
			}()
			eventually(t, "it runs", func() bool { b, _ := os.ReadFile(pid); return len(b) > 0 })
			if !strings.HasPrefix(name, "left") {
				cancel(late)
				if err := <-ended; !errors.Is(err, late) {
					t.Errorf("it ends with %v", err)
				}
			} else if err := <-ended; err == nil || !strings.Contains(err.Error(), "sleep, which it started, went on") {
				t.Errorf("it ends with %v", err)
			}
			cancel(nil)
			eventually(t, "its child is gone", func() bool { return !alive(t, pid) })
		})
	}
}

// TestG8_ALostClaimEndsACommandInTime: the time for it is that of the claim, not the usual one.
func TestG8_ALostClaimEndsACommandInTime(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := shell(ctx, invocation{}, "trap '' TERM; echo $$ >$1; while :; do sleep 1; done", pid)
		ended <- err
	}()
	eventually(t, "it runs", func() bool { b, _ := os.ReadFile(pid); return len(b) > 0 })
	lost := &lease.LostError{Reason: "expired", KillAt: process.Boottime()}
	cancel(lost)
	if err := <-ended; !errors.Is(err, lost) {
		t.Errorf("it ends with %v", err)
	}
	if alive(t, pid) {
		t.Error("it is still there")
	}
}

// TestG8_AClaimThatIsLostAfterATimeOutEndsACommandInTime: the step's time-out has asked it to end, and leaves it longer.
func TestG8_AClaimThatIsLostAfterATimeOutEndsACommandInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	claim, lose := context.WithCancelCause(t.Context())
	late := errors.New("it took too long")
	ctx, cancel := context.WithCancelCause(claim)
	ended := make(chan error, 1)
	go func() {
		_, _, err := shell(ctx, invocation{claim: claim}, "trap 'echo >$1/asked' TERM; echo >$1/runs; while :; do sleep 0.1; done", dir)
		ended <- err
	}()
	is := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	}
	eventually(t, "it runs", is("runs"))
	cancel(late)
	asked := time.Now()
	eventually(t, "it was asked to end", is("asked"))
	if time.Since(asked) > endGrace/2 {
		t.Skip("the machine is too slow to tell what ended it")
	}
	lose(&lease.LostError{Reason: "expired", KillAt: process.Boottime()})
	if err := <-ended; !errors.Is(err, late) {
		t.Errorf("it ends with %v", err)
	}
	if took := time.Since(asked); took >= endGrace {
		t.Errorf("it ends %s after it was asked to, though its claim was lost", took)
	}
}

// TestOutputThatSomethingElseHoldsIsNotWhole: what left the group may still write to it, so nobody knows whether that was all.
func TestOutputThatSomethingElseHoldsIsNotWhole(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	_, _, err := shell(t.Context(), invocation{}, `setsid sh -c 'echo $$ >"$1"; exec sleep 600' sh "$1" & while ! [ -s "$1" ]; do sleep 0.01; done`, pid)
	if err == nil || !strings.Contains(err.Error(), "still holds its output open") {
		t.Errorf("it ends with %v", err)
	}
	b, _ := os.ReadFile(pid)
	left, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(left, unix.SIGKILL)
}

// TestWhatEndsShortlyAfterItsLeaderWasWhole: as the reader of a pipe does, whose writer is the leader.
func TestWhatEndsShortlyAfterItsLeaderWasWhole(t *testing.T) {
	t.Parallel()
	out, _, err := shell(t.Context(), invocation{}, "(sleep 0.2; echo whole) & exit 0")
	if err != nil || out != "whole\n" {
		t.Errorf("it wrote %q and ends with %v", out, err)
	}
}

// TestWhatAnotherUserRunsIsGivenUp: the test as root runs itself again as a user who starts what makes itself root, as sudo
// does. That one cannot be ended; the time-out holds all the same, and the error says what still runs.
func TestWhatAnotherUserRunsIsGivenUp(t *testing.T) {
	t.Parallel()
	const role = "PICKET_TEST_ROLE"
	run := "-test.run=^" + t.Name() + "$"
	switch os.Getenv(role) {
	case "scanner":
		if err := syscall.Setuid(0); err != nil {
			t.Fatal(err)
		}
		fmt.Println("root")
		time.Sleep(time.Minute)
		return
	case "agent":
		ctx, cancel := context.WithCancelCause(context.Background())
		in := invocation{
			argv: []string{filepath.Dir(os.Args[0]) + "/scanner", run}, env: []string{role + "=scanner"}, okExit: []int{0}, limit: 1 << 20,
			stderr: func(string) {},
			consume: func(r io.Reader) error {
				_, _ = io.ReadFull(r, make([]byte, len("root")))
				cancel(errors.New("it took too long"))
				_, err := io.Copy(io.Discard, r)
				return err
			},
		}
		err := in.run(ctx)
		left, ok := errors.AsType[*outlivedError](err)
		if !ok || !strings.HasPrefix(err.Error(), "it took too long; ") {
			t.Fatalf("it ends with %v", err)
		}
		fmt.Println("left:", left.left.PID)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make a program of another user")
	}
	dir, err := os.MkdirTemp("", "picket-setuid-") // where another user may go
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	agent, scanner := filepath.Join(dir, "agent"), filepath.Join(dir, "scanner")
	if err := errors.Join(
		os.Chmod(dir, 0o755), os.WriteFile(agent, self, 0o755), os.WriteFile(scanner, self, 0o755), os.Chmod(agent, 0o755),
		os.Chmod(scanner, os.ModeSetuid|0o755),
	); err != nil {
		t.Fatal(err)
	}
	again := exec.Command(agent, run)
	again.Dir, again.Env = dir, []string{role + "=agent"}
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := again.CombinedOutput()
	var left int
	if at := strings.Index(string(out), "left:"); at >= 0 {
		_, _ = fmt.Sscanf(string(out[at:]), "left: %d", &left)
	}
	if err != nil || left == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	_ = unix.Kill(left, unix.SIGKILL)
}

func TestTheLogOfACommandIsBounded(t *testing.T) {
	t.Parallel()
	_, logged, err := shell(t.Context(), invocation{},
		`i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo line; done >&2; head -c 100000 /dev/zero | tr '\0' x >&2; printf '\n\033[31mred\tand \377 last\n' >&2; exit 0`)
	if err != nil || len(logged) != 501 || logged[500] != "more than 500 lines: the others are left out" {
		t.Errorf("%d lines, %v", len(logged), err)
	}
}
