// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzRedisInfo: whatever a server says of itself, its names and numbers are read, or count as not said.
func FuzzRedisInfo(f *testing.F) {
	f.Add("# Memory\r\nused_memory:1048576\r\nmaxmemory_policy:noeviction\r\n")
	f.Add("a:b:c\n:\nused_memory:-9223372036854775809")
	f.Fuzz(func(t *testing.T, text string) {
		all := fields(text)
		if len(all) > strings.Count(text, ":") {
			t.Fatalf("%q has %d fields", text, len(all))
		}
		for _, value := range all {
			_ = number(value)
		}
	})
}

// FuzzSecretFile: what is read of a secret's file is what stands in it, but for its last line end; or it is refused, and not repeated.
func FuzzSecretFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "secret")
	for _, seed := range []string{"hunter2hunter2\n", "", "\n", "a\nb\n", "\xff\xfe", strings.Repeat("x", 70_000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		secret, err := readSecret(path)
		switch text := strings.TrimRight(string(b), "\r\n"); {
		case err == nil && strings.TrimRight(secret, "\r\n") != text:
			t.Fatalf("%q is read as %q", b, secret)
		case err != nil && len(text) > 8 && strings.Contains(err.Error(), text):
			t.Fatalf("the error repeats it: %v", err)
		}
	})
}

// FuzzSystemd: whatever the environment says of systemd's watchdog, it is a time that it wants to hear within, or none.
func FuzzSystemd(f *testing.F) {
	f.Add("30000000", "")
	f.Add("-1", "1")
	f.Add("99999999999999999999", "x")
	f.Fuzz(func(t *testing.T, usec, pid string) {
		for name, value := range map[string]string{"WATCHDOG_USEC": usec, "WATCHDOG_PID": pid} {
			if strings.Contains(value, "\x00") {
				return
			}
			t.Setenv(name, value)
		}
		if every := systemdWatchdog(); every < 0 {
			t.Fatalf("%q, %q is %s", usec, pid, every)
		}
	})
}
