// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picketd/picket/outbox"
)

// TestTheCheckSeesWhoElseMayReadOrChange what the daemon goes by: the agents, whose group is the socket's, and others.
func TestTheCheckSeesWhoElseMayReadOrChange(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("files of others are needed, and so is root")
	}
	const agents = 1 // group daemon, which every system has
	for name, c := range map[string]struct {
		spoil func(c *Config, file func(name string, mode os.FileMode, uid, gid int) string)
		says  string
	}{
		"nothing": {func(c *Config, file func(string, os.FileMode, int, int) string) {
			c.Redis.PasswordFile = file("pw", 0o640, 0, 2)
			c.Channels = []Channel{{Type: "exec", Command: []string{file("page", 0o755, 0, 0)}}}
		}, ""},
		"agents read a password": {func(c *Config, file func(string, os.FileMode, int, int) string) {
			c.Redis.PasswordFile = file("pw", 0o640, 0, agents)
		}, "can be read by every agent, for daemon is the socket's group"},
		"all read a password": {func(c *Config, file func(string, os.FileMode, int, int) string) {
			c.Redis.PasswordFile = file("pw", 0o604, 0, 0)
		}, "can be read by every user of this host"},
		"a program of another": {func(c *Config, file func(string, os.FileMode, int, int) string) {
			c.Channels = []Channel{{Type: "exec", Command: []string{file("page", 0o755, 4711, 0)}}}
		}, "channel[0].command: user 4711 may change"},
		"a program of a group": {func(c *Config, file func(string, os.FileMode, int, int) string) {
			c.Channels = []Channel{{Type: "exec", Command: []string{file("page", 0o775, 0, agents)}}}
		}, "group daemon may change"},
		"a folder of all": {func(c *Config, file func(string, os.FileMode, int, int) string) {
			path := file("page", 0o755, 0, 0)
			_ = os.Chmod(filepath.Dir(path), 0o777)
			c.Channels = []Channel{{Type: "exec", Command: []string{path}}}
		}, "every user of this host may change"},
		"agents are admins": {func(c *Config, _ func(string, os.FileMode, int, int) string) { c.AdminGroup = "daemon" }, "every agent is an administrator"},
		"a password in a URL": {func(c *Config, _ func(string, os.FileMode, int, int) string) {
			c.Channels = []Channel{{Type: "webhook", URL: "https://me:hunter2@example.com/x"}}
		}, "channel[0].url: there is a secret in it"},
		"a token in a URL": {func(c *Config, _ func(string, os.FileMode, int, int) string) {
			c.Channels = []Channel{{Type: "webhook", URL: "https://example.com/x?access_token=hunter2"}}
		}, "channel[0].url: there is a secret in it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			config := DefaultConfig()
			config.StateDir, config.Socket = dir, SocketConfig{Path: filepath.Join(dir, "s"), Group: "daemon"}
			c.spoil(&config, func(name string, mode os.FileMode, uid, gid int) string {
				path := filepath.Join(dir, name)
				for _, err := range []error{os.WriteFile(path, []byte("hunter2\n"), 0o600), os.Chown(path, uid, gid), os.Chmod(path, mode)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				return path
			})
			said := strings.Join(config.Warnings(), "\n")
			if !strings.Contains(said, c.says) || c.says == "" && said != "" || strings.Contains(said, "hunter2") {
				t.Errorf("it says %q, want %q", said, c.says)
			}
		})
	}
}

// TestASecretInAnAddressIsRefusedAndNotRepeated.
func TestASecretInAnAddressIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"redis://me:hunter2@h:6379", "hunter2@h:6379", "h:6379?password=hunter2", "unix:///run/r.sock?password=hunter2", "unix://hunter2@/run/r.sock"} {
		_, err := load(t, "[redis]\naddrs = [\""+addr+"\", \""+addr+"\"]\n")
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "has more than an address in it") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// TestTheCheckRefusesAStateThatSystemdEmpties: /tmp is the service's own.
func TestTheCheckRefusesAStateThatSystemdEmpties(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "/tmp/given")
	for dir, refused := range map[string]bool{"/tmp/picket": true, "/var/tmp/picket": true, "/tmp/given": false, "/srv": false} {
		err := Config{StateDir: dir}.CheckState(0)
		if got := err != nil && strings.Contains(err.Error(), "systemd empties "+dir); got != refused {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestTheCheckRefusesAStateThatNobodyCanMake: root may write everywhere, but not where there is no room.
func TestTheCheckRefusesAStateThatNobodyCanMake(t *testing.T) {
	t.Parallel()
	if err := (Config{StateDir: "/proc/picket/state"}).CheckState(0); err == nil {
		t.Error("a folder in /proc can be made")
	}
}

// TestTheCheckTriesTheState as a start would: with the rights of who asks, and as root what another's daemon would meet.
func TestTheCheckTriesTheState(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a small disk and files of others are needed, and so is root")
	}
	state := func(t *testing.T, spoil func(t *testing.T, dir, outbox string) error) string {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, "outbox.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := spoil(t, dir, path); err != nil {
			t.Fatal(err)
		}
		err := Config{StateDir: dir}.CheckState(os.Getpid() + 1)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir, outbox string) error
		says  string
	}{
		"good": {func(_ *testing.T, _, _ string) error { return nil }, ""},
		"of another": {func(_ *testing.T, dir, path string) error {
			return errors.Join(os.Chown(dir, 4711, 0), os.Chown(path, 4711, 0))
		}, ""},
		"an outbox of root": {func(_ *testing.T, dir, _ string) error { return os.Chown(dir, 4711, 0) }, "outbox.db is of user root, and its folder of 4711, who cannot write it: chown -R 4711"},
		"no folder": {func(_ *testing.T, dir, _ string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
		}, "is no folder"},
		"none, to be made":     {func(_ *testing.T, dir, _ string) error { return os.RemoveAll(dir) }, ""},
		"read-only":            {func(t *testing.T, dir, _ string) error { return mountOver(t, dir, "ro") }, "read-only file system"},
		"full":                 {func(t *testing.T, dir, _ string) error { return mountOver(t, dir, "size=4k") }, "no space left on device"},
		"read-only of another": {func(t *testing.T, dir, _ string) error { return mountOver(t, dir, "ro,uid=4711") }, "read-only file system"},
		"full, of another":     {func(t *testing.T, dir, _ string) error { return mountOver(t, dir, "size=4k,uid=4711") }, "no space left on device"},
		"another's": {func(t *testing.T, _, path string) error {
			store, err := outbox.Open(path, outbox.Options{})
			if err == nil {
				t.Cleanup(func() { _ = store.Close() })
			}
			return err
		}, "each daemon needs a state_dir of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			if said := state(t, c.spoil); !strings.Contains(said, c.says) || c.says == "" && said != "" {
				t.Errorf("it says %q, want %q", said, c.says)
			}
		})
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 4711, 0); err != nil {
		t.Fatal(err)
	}
	if err := (Config{StateDir: dir}).ownState(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "runuser -u 4711") {
		t.Errorf("root starts a daemon on another's state: %v", err)
	}
}

// mountOver mounts a small disk over a folder until the test ends.
func mountOver(t *testing.T, dir, options string) error {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,"+options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small disk: %s", out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	return nil
}
