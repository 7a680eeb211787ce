// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// soakEnv is how long a soak lasts. make soak sets it; a short round is among the tests.
const soakEnv = "PICKET_SOAK"

// soakMemory is what a daemon may have resident in a soak.
const soakMemory = 300 << 20

// soakUIDs are the users of a soak. Neither is root, who is bounded by less.
var soakUIDs = map[string]uint32{"good": 30_001, "hostile": 30_002}

// TestSoak: whatever one user does, all of it at once and over a restart of the daemon, another loses no claim and no notification,
// no call of it fails, and the daemon's memory stays within bounds.
func TestSoak(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this needs root, for agents of two users")
	}
	lasts := 10 * time.Second
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	r := newReceiver(t)
	h := newCrashHost(t, "scan-01", redistest.Start(t), r, ops)
	if err := os.Chmod(filepath.Dir(h.file), 0o755); err != nil {
		t.Fatal(err)
	}
	h.config.Socket.Mode = "0660" // for its group, which the agents have
	h.start(t, "")
	agent, told := h.soak(t, "good")
	if line, err := told.ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the good one says %q, %v", line, err)
	}
	enemy, _ := h.soak(t, "hostile")
	time.Sleep(lasts / 2)
	memory := h.memory(t)
	h.stop(t)
	h.start(t, "")
	time.Sleep(lasts / 2)
	var s soaked
	_ = agent.Close()
	if err := json.NewDecoder(told).Decode(&s); err != nil {
		t.Fatal(err)
	}
	_ = enemy.Close()
	memory = max(memory, h.memory(t))
	t.Logf("%d calls, the longest took %s; %d notifications; %d MiB resident", s.Calls, s.Longest, len(s.Notified), memory>>20)
	if len(s.Lost)+len(s.Failed) > 0 || s.Calls < soakClaims {
		t.Errorf("%d claims are lost, %d calls failed: %q %q", len(s.Lost), len(s.Failed), s.Lost, s.Failed)
	}
	if memory > soakMemory && !raced {
		t.Errorf("the daemon has had %d MiB resident", memory>>20)
	}
	eventually(t, "the good one's notifications arrive", func() bool {
		got := map[string]bool{}
		for _, one := range r.requests() {
			got[strings.Trim(one.key, `"`)] = true
		}
		for _, ticket := range s.Notified {
			if !got[ticket] {
				return false
			}
		}
		return true
	})
}

// soak starts an agent of a soak as its user. It works until stop is closed.
func (h *crashHost) soak(t *testing.T, role string) (stop io.Closer, out *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), soakOfProcess+"="+role, soakSocket+"="+h.config.Socket.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: soakUIDs[role], Gid: uint32(os.Getgid())}, Pdeathsig: syscall.SIGKILL,
	}
	cmd.Stderr = h.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return stdin, bufio.NewReader(stdout)
}

// memory is the most that the running daemon has had resident, in bytes.
func (h *crashHost) memory(t *testing.T) (n int64) {
	t.Helper()
	h.mu.Lock()
	pid := h.cmd.Process.Pid
	h.mu.Unlock()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(rest, "%d kB", &n); err != nil {
		t.Fatal(err)
	}
	return n << 10
}
