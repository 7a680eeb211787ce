// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Dev is where a daemon for trying things out keeps its files, in a folder of its own that only this user can enter.
type Dev struct {
	Dir           string // of everything below; remove it at the end
	Config        Config // socket in Dir, state in Dir, Redis at RedisAddr, a channel "terminal" of type log
	RedisAddr     string // unix:///path, for RunEmbeddedRedis
	RedisPassword string // for RunEmbeddedRedis; never on a command line
	AuditFile     string // for Options.Audit
}

// NewDev makes the folder, under $XDG_RUNTIME_DIR or else the folder for temporary files, and a configuration for it.
func NewDev() (Dev, error) {
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()), "picket-dev-")
	if err != nil {
		return Dev{}, fmt.Errorf("cannot make a folder for the daemon: %w", err)
	}
	d := Dev{Dir: dir, RedisAddr: "unix://" + filepath.Join(dir, "redis.sock"), RedisPassword: rand.Text(), Config: DefaultConfig()}
	d.AuditFile = filepath.Join(dir, "audit.jsonl")
	passwordFile := filepath.Join(dir, "redis.password")
	if err := os.WriteFile(passwordFile, []byte(d.RedisPassword+"\n"), 0o600); err != nil {
		_ = os.RemoveAll(dir)
		return Dev{}, fmt.Errorf("cannot write the password of the embedded Redis: %w", err)
	}
	c := &d.Config
	c.AdminGroup = ""
	c.StateDir = filepath.Join(dir, "state")
	c.Socket = SocketConfig{Path: filepath.Join(dir, "picket.sock"), Mode: "0600"}
	c.Redis.Addrs, c.Redis.PasswordFile = []string{d.RedisAddr}, passwordFile
	terminal := DefaultChannel()
	terminal.Name, terminal.Type = "terminal", "log"
	c.Channels = []Channel{terminal}
	return d, nil
}

// PrintBanner says what this daemon is and that it keeps nothing, with three lines to try.
func (d Dev) PrintBanner(w io.Writer) {
	fmt.Fprintf(w, `picket dev: a daemon with a Redis of its own, to try things out. It keeps nothing: when it ends, all is gone.
Notifications are printed here. Its socket is %[1]s. Try, in another terminal:

  export PICKET_SOCKET=%[1]s
  curl --unix-socket $PICKET_SOCKET http://picket/v1/claims -d '{"asset":"web-01","task":"w48","heartbeat":"10m"}'
  curl --unix-socket $PICKET_SOCKET http://picket/v1/tickets/web-01/w48

`, d.Config.Socket.Path)
}
