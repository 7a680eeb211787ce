// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picketd/picket/agent/strict"
)

// TestAFileThatCannotBeReadForAWhileIsTriedAgain, without a change of it, and is told once.
func TestAFileThatCannotBeReadForAWhileIsTriedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "accepted.toml")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var wrong error
		opened := 0
		s, err := newShelf("a file", func() (int, error) { opened++; return opened, wrong }, slog.New(slog.NewTextHandler(&log, nil)), path)
		if err != nil || s.current() != 1 {
			t.Fatalf("it is read as %d, %v", s.current(), err)
		}
		wrong = errors.New("permission denied")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if got := s.current(); got != 1 {
				t.Fatalf("what cannot be read is used: %d", got)
			}
			time.Sleep(tryAgain / 50)
		}
		if opened > 4 {
			t.Errorf("it was opened %d times in 20 s", opened)
		}
		if n := strings.Count(log.String(), "permission denied"); n != 1 {
			t.Errorf("it is told %d times", n)
		}
		wrong = nil
		time.Sleep(tryAgain)
		if got := s.current(); got != opened {
			t.Errorf("what can be read again is not: %d of %d", got, opened)
		}
		if before := opened; s.current() != before || opened != before {
			t.Error("it is read again without need")
		}
	})
}

// TestACatalogueThatBecomesTooOldIsNotUsed: a run may last longer than it may be used.
func TestACatalogueThatBecomesTooOldIsNotUsed(t *testing.T) {
	t.Parallel()
	kev := filepath.Join(t.TempDir(), "kev.json")
	catalogue := `{"dateReleased": "2026-11-27T17:00:00.0000Z", "count": 1, "vulnerabilities": [{"cveID": "CVE-2020-0001"}]}`
	if err := os.WriteFile(kev, []byte(catalogue), 0o600); err != nil {
		t.Fatal(err)
	}
	j := jobOn(t, fmt.Sprintf("[step.intel]\nkev = %q\n", kev))
	if _, err := j.intel(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.a.config.Step.Intel.MaxAge = strict.Duration(time.Nanosecond)
	if out, err := j.intel(t.Context()); err == nil || !strings.Contains(err.Error(), "kev.json is of 2026-11-27, which is older than max_age") {
		t.Errorf("it says %s, %v", out.Summary, err)
	}
}
