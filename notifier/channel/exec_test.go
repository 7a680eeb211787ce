// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/outbox"
)

// runs makes one attempt with a shell script; the first parameter is a fresh folder.
func runs(t *testing.T, timeout time.Duration, script string, body string) (Result, string) {
	t.Helper()
	dir := t.TempDir()
	c := made(t, Config{Name: "ops", Type: "exec", Command: []string{"/bin/sh", "-c", script, "sh", dir}})
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, errors.New("the time-out is over"))
	defer cancel()
	return c.Send(ctx, Delivery{Key: "web-01/w48", Body: []byte(body)}), dir
}

func TestEveryExitCode(t *testing.T) {
	t.Parallel()
	for code := range 256 {
		want := Result{Status: outbox.Pending, Doubtful: true}
		switch code {
		case 0:
			want = sentResult
		case 75:
			want.Doubtful = false
		case 64, 65, 77, 78:
			want = Result{Status: outbox.Dead}
		}
		got, _ := runs(t, time.Minute, fmt.Sprintf("echo so bad >&2; exit %d", code), "")
		if says := fmt.Sprintf("the command ended with exit code %d: so bad", code); code != 0 && got.Error != says {
			t.Errorf("%q, want %q", got.Error, says)
		}
		got.Error = ""
		if got != want {
			t.Errorf("%d is %+v, want %+v", code, got, want)
		}
	}
}

func TestCommandGetsBodyKeyAndLittleElse(t *testing.T) {
	t.Setenv("PICKET_TEST_SECRET", "hunter2")
	body := strings.Repeat("0123456789abcdef", 64<<10/16) + "end"
	r, dir := runs(t, time.Minute, `cat > "$1/body"; env > "$1/env"; pwd > "$1/pwd"; ps -o pgid= -p $$ > "$1/pgid" || cut -d' ' -f5 /proc/$$/stat > "$1/pgid"; echo $$ > "$1/pid"`, body)
	if r != sentResult {
		t.Fatalf("%+v", r)
	}
	file := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	if file("body") != body || file("pwd") != "/" || file("pgid") != file("pid") {
		t.Errorf("%d bytes of body, in %s, group %s of %s", len(file("body")), file("pwd"), file("pgid"), file("pid"))
	}
	env := file("env")
	if !strings.Contains(env, "PICKET_IDEMPOTENCY_KEY=web-01/w48") || !strings.Contains(env, "PATH=") || strings.Contains(env, "hunter2") {
		t.Errorf("the environment is %s", env)
	}
}

func TestCommandThatReadsNothingIsFine(t *testing.T) {
	t.Parallel()
	if r, _ := runs(t, time.Minute, "exit 0", strings.Repeat("x", 1<<20)); r != sentResult {
		t.Errorf("%+v", r)
	}
}

func TestOnlyTheEndOfStandardErrorIsKept(t *testing.T) {
	t.Parallel()
	r, _ := runs(t, time.Minute, `cat >/dev/null; i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done >&2; exit 1`, "")
	if !strings.HasSuffix(r.Error, "line 19998 line 19999") || len(r.Error) > 2*MaxError {
		t.Errorf("%d bytes: %q", len(r.Error), r.Error)
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	c := &command{argv: []string{"/nothing/here"}}
	if r := c.Send(t.Context(), Delivery{}); r.Status != outbox.Pending || r.Doubtful || !strings.Contains(r.Error, "cannot start") {
		t.Errorf("%+v", r)
	}
	for _, argv := range [][]string{nil, {}, {""}} {
		if wrongIn(Config{Name: "ops", Type: "exec", Command: argv}) == "" {
			t.Errorf("%q is taken for a command", argv)
		}
	}
}

func TestSignalMakesItUnknown(t *testing.T) {
	t.Parallel()
	if r, _ := runs(t, time.Minute, "kill -9 $$", ""); r.Status != outbox.Unknown || !strings.Contains(r.Error, "killed") {
		t.Errorf("%+v", r)
	}
}

// A command that hangs, obeys no TERM and has children is gone with its whole group.
func TestTimeoutEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]string{"obeys": "", "does not obey": "trap '' TERM;"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := runs(t, 6*time.Second, trap+`sleep 1000 & echo $! > "$1/child"; echo working >&2; wait; sleep 1000`, "")
			if r.Status != outbox.Unknown || r.Error != "the command was ended, the time-out is over: working" {
				t.Errorf("%+v", r)
			}
			b, err := os.ReadFile(filepath.Join(dir, "child"))
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the child is gone", func() bool {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
				return err != nil && unix.Kill(child, 0) == unix.ESRCH || strings.Contains(string(stat), ") Z ")
			})
		})
	}
}

func TestTermComesBeforeKill(t *testing.T) {
	t.Parallel()
	r, dir := runs(t, 6*time.Second, `trap 'echo tidied > "$1/tidied"; exit 0' TERM; while :; do sleep 0.05; done`, "")
	if _, err := os.Stat(filepath.Join(dir, "tidied")); err != nil || r.Status != outbox.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
}

// What a command leaves behind in the background keeps nobody waiting.
func TestBackgroundChildIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	began := time.Now()
	if r, _ := runs(t, time.Minute, "sleep 60 & exit 0", ""); r != sentResult {
		t.Errorf("%+v", r)
	}
	if d := time.Since(began); d > 40*time.Second {
		t.Errorf("it took %v", d)
	}
}
