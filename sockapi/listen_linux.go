// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Socket says where and how to listen.
type Socket struct {
	Path string
	Mode fs.FileMode // permission bits

	// Group is the socket's group; empty leaves the daemon's own. With GroupOptional, a group that does not exist or cannot be
	// given is a warning, and the mode is narrowed to the owner's bits; without, it is an error.
	Group         string
	GroupOptional bool
}

// Listen makes the socket and listens on it. The file is bound inside a folder of mode 0700 and renamed into place when it has
// its mode and group, so that it is never open to more than it should be.
//
// Beside it lies a lock file, held as long as the listener is open. A socket that is there already is replaced only under that
// lock and if a connection to it is refused, which proves that nobody listens. Closing the listener removes the socket, if it
// is still the one that Listen made.
func Listen(s Socket, log *slog.Logger) (net.Listener, error) {
	lock, err := lockFile(s.Path + ".lock")
	if err != nil {
		return nil, err
	}
	ln, err := s.listen(log)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("cannot listen on %s: %w", s.Path, err)
	}
	ln.lock = lock
	return ln, nil
}

func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the socket's lock file: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("cannot listen: another daemon has the lock file %s", path)
		}
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	return f, nil
}

func (s Socket) listen(log *slog.Logger) (*fileListener, error) {
	if err := stale(s.Path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(s.Path), ".picket-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	inside := filepath.Join(dir, "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: inside, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	err = s.permit(inside, log)
	if err == nil {
		err = os.Rename(inside, s.Path)
	}
	made, statErr := os.Lstat(s.Path)
	if err = errors.Join(err, statErr); err != nil {
		_ = ln.Close()
		return nil, err
	}
	return &fileListener{UnixListener: ln, path: s.Path, made: made}, nil
}

// stale returns nil if nothing is at path, or a socket on which nobody listens.
func stale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is a file that is no socket: remove it, or choose another path")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		_ = c.Close()
		return errors.New("another process listens there")
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fmt.Errorf("cannot tell whether another process listens there: %w", err)
}

// permit gives the socket its group and mode.
func (s Socket) permit(path string, log *slog.Logger) error {
	mode := s.Mode.Perm()
	if s.Group != "" {
		err := chgrp(path, s.Group)
		if err != nil && !s.GroupOptional {
			return err
		}
		if err != nil {
			mode &= 0o700
			log.Warn("the socket is open to its owner only", "path", s.Path, "mode", fmt.Sprintf("%#o", mode), "error", err)
		}
	}
	return os.Chmod(path, mode)
}

func chgrp(path, group string) error {
	g, err := user.LookupGroup(group)
	if err != nil {
		return fmt.Errorf("cannot give the socket the group %s: make it, or set another: %w", group, err)
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return fmt.Errorf("cannot give the socket the group %s: its id is %q", group, g.Gid)
	}
	if err := os.Chown(path, -1, gid); err != nil {
		return fmt.Errorf("cannot give the socket the group %s: %w", group, err)
	}
	return nil
}

// fileListener is a listener whose socket file goes with it.
type fileListener struct {
	*net.UnixListener
	path string
	made fs.FileInfo
	lock *os.File
	once sync.Once
}

// Close stops listening, removes the socket unless it was replaced, and lets go of the lock file.
func (l *fileListener) Close() error {
	err := l.UnixListener.Close()
	l.once.Do(func() {
		if now, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(now, l.made) {
			err = errors.Join(err, os.Remove(l.path))
		}
		// Unlocked by name: a child that is being started holds a copy of the file until it runs.
		err = errors.Join(err, unix.Flock(int(l.lock.Fd()), unix.LOCK_UN), l.lock.Close())
	})
	return err
}
