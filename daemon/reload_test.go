// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAReloadSaysWhatARestartWouldChange(t *testing.T) {
	t.Parallel()
	path := write(t, "picket.toml", "[lock]\nttl = \"20s\"\n")
	c, err := LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		doc, says string
		wrong     bool
	}{
		{"[lock]\nttl = \"20s\"\n", "has not changed", false},
		{"[lock]\nttl = \"20\"\n", "lock.ttl: has no unit", true},
		{"[lock]\nttl = \"30s\"\n[redis]\ntls = {}\n[[channel]]\nname = \"a\"\ntype = \"log\"\n", `keys="redis.tls lock.ttl channel"`, false},
	} {
		log := &lines{}
		d, err := New(c, Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Audit: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(step.doc), 0o600); err != nil {
			t.Fatal(err)
		}
		err = d.Reload()
		if errors.Is(err, ErrConfig) != step.wrong || !strings.Contains(log.String(), step.says) {
			t.Errorf("got %v\n%s\nwant %s", err, log, step.says)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(d.config.Lock.TTL); got != "20s" {
			t.Errorf("the running configuration has changed: lock.ttl is %s", got)
		}
	}
}

// What systemd is told is read at once: it has arrived when Reload returns.
func TestAReloadIsToldToSystemdOnceTheDaemonIsStarted(t *testing.T) {
	notified := notifySocket(t)
	told := func() string {
		t.Helper()
		if err := notified.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1024)
		n, _ := notified.Read(buf)
		return string(buf[:n])
	}
	path := write(t, "picket.toml", "")
	c, err := LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(c, Options{Logger: slog.New(slog.DiscardHandler), Audit: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []phase{fresh, started, stopped} {
		d.phase = p
		before := monotonic()
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		first, second := told(), told()
		if p != started {
			if first != "" {
				t.Errorf("in phase %d systemd was told %q", p, first)
			}
			continue
		}
		at, err := strconv.ParseInt(strings.TrimPrefix(first, "RELOADING=1\nMONOTONIC_USEC="), 10, 64)
		if err != nil || at < before.Microseconds() || at > monotonic().Microseconds() || second != "READY=1" {
			t.Errorf("systemd was told %q and %q, %v", first, second, err)
		}
	}
	d.phase = fresh
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// notifySocket is where systemd listens, for this process.
func notifySocket(t *testing.T) *net.UnixConn {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify.sock")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return conn
}

// TestAReloadLeavesCredentialsToTheNextStart: systemd hands them over then, and not before.
func TestAReloadLeavesCredentialsToTheNextStart(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", t.TempDir())
	path := write(t, "picket.toml", `[redis]
password_file = "picket_new.password"
tls = { ca_file = "picket_ca", cert_file = "picket_cert", key_file = "picket_key" }
[[channel]]
name = "a"
type = "webhook"
url_file = "picket_url"
secret_file = "picket_secret"
[[channel]]
name = "b"
type = "mail"
smtp = "mail.example.com:587"
username = "u"
password_file = "picket_mail"
template_file = "picket_template"
from = "a@example.com"
to = ["b@example.com"]
`)
	if _, err := LoadConfigStaleCredentials(path); err != nil {
		t.Error(err)
	}
	if _, err := LoadConfig(path); err == nil || strings.Count(err.Error(), "\n") != 6 {
		t.Errorf("a start should miss seven credentials, got %v", err)
	}
	d, err := New(DefaultConfig(), Options{Logger: slog.New(slog.DiscardHandler), Audit: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	d.config.path = path
	if err := d.Reload(); err != nil {
		t.Error(err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	doc := "[redis]\ntls = { ca_file = \"/none/ca\", cert_file = \"picket_cert\", key_file = \"/none/key\" }\n"
	_, err = LoadConfigStaleCredentials(write(t, "picket.toml", doc)) // files are here or not, whenever systemd started it
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want ca_file and cert_file", err)
	}
}
