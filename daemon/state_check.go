// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/outbox"
)

// stateRoom is what must be free where the state is: about a notification with its bodies.
const stateRoom = 64 << 10

// CheckState tries what a start does in state_dir, with the rights of this process. running is the pid of the daemon that is to be
// started again and may have the outbox, 0 when any may. Its error is an ErrConfig.
func (c Config) CheckState(running int) error {
	err := c.tryState(running)
	if err == nil {
		return nil
	}
	return strict.Located(c.path, nil, []problem{{Key: "state_dir", Message: err.Error()}})
}

func (c Config) tryState(running int) error {
	if own := os.Getenv("STATE_DIRECTORY"); own != "" && c.StateDir != own && (strings.HasPrefix(c.StateDir, "/tmp/") || strings.HasPrefix(c.StateDir, "/var/tmp/")) {
		return fmt.Errorf("systemd empties %s when the daemon stops, and what is not delivered is there: leave it out", c.StateDir)
	}
	info, err := os.Stat(c.StateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return mayMake(c.StateDir)
	}
	if err != nil {
		return fmt.Errorf("cannot be looked at: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", c.StateDir)
	}
	path := filepath.Join(c.StateDir, "outbox.db")
	file, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot be looked into: %w", err)
	case err == nil && ownerOf(file) != ownerOf(info):
		return fmt.Errorf("%s is of user %s, and its folder of %s, who cannot write it: chown -R %[3]s %s (a daemon that root starts by hand leaves it so)",
			path, UserName(ownerOf(file)), UserName(ownerOf(info)), c.StateDir)
	}
	if pid := outbox.Holder(path); running != 0 && pid != 0 && pid != running {
		return fmt.Errorf("process %d has %s: each daemon needs a state_dir of its own", pid, path)
	}
	if foreign(info) {
		return roomy(c.StateDir) // root asks for another, and leaves no file behind
	}
	if err := unix.Access(path, unix.R_OK|unix.W_OK); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("user %s cannot write %s: %w", UserName(uint32(os.Geteuid())), path, err)
	}
	return tryWrite(c.StateDir)
}

// foreign reports whether root looks at what is another user's.
func foreign(info fs.FileInfo) bool { return os.Geteuid() == 0 && ownerOf(info) != 0 }

// mayMake reports why a folder could not be made, or not be written to.
func mayMake(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) && parent != dir {
		return mayMake(parent)
	}
	if err := unix.Access(parent, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("cannot make %s: user %s cannot write to %s: %w", dir, UserName(uint32(os.Geteuid())), parent, err)
	}
	return roomy(parent)
}

// roomy looks for room without writing.
func roomy(dir string) error {
	var disk unix.Statfs_t
	switch err := unix.Statfs(dir, &disk); {
	case err != nil:
		return fmt.Errorf("cannot look at the disk of %s: %w", dir, err)
	case disk.Flags&unix.ST_RDONLY != 0:
		return fmt.Errorf("cannot write to %s: %w", dir, unix.EROFS)
	case disk.Bavail*uint64(disk.Bsize) < stateRoom:
		return fmt.Errorf("cannot write to %s: %w", dir, unix.ENOSPC)
	}
	return nil
}

// tryWrite writes a file and takes it away again.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".check-")
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", dir, errors.Unwrap(err))
	}
	_, err = f.Write(make([]byte, stateRoom))
	err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", dir, err)
	}
	return nil
}

// ownState refuses root the state of another user, who could not write what root leaves there.
func (c Config) ownState() error {
	info, err := os.Stat(c.StateDir)
	if err != nil || !foreign(info) {
		return nil //nolint:nilerr // it is made, or the making says what is wrong
	}
	name := UserName(ownerOf(info))
	return strict.Error{fmt.Sprintf("state_dir: %s is of user %s, who could not write what root leaves there: start the daemon as that user, by systemctl start picketd.service "+
		"or runuser -u %[2]s -- picket daemon", c.StateDir, name)}
}
