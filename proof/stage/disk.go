// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// diskSize is enough for the outbox of some minutes, and little to fill.
const diskSize = 24 << 20

// disk is an ext4 of its own for a daemon's state, in memory: fsync costs nothing, and it outlives the daemon.
type disk struct {
	dir string

	access sync.Mutex
	fixed  []string // what ReadOnlyDisk made immutable
	filled bool
}

func (d *disk) image() string   { return d.dir + ".img" }
func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// make makes the disk and mounts it. The loop device goes with the mount.
func (d *disk) make(ctx context.Context) error {
	f, err := os.Create(d.image())
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(diskSize), f.Close(), os.Mkdir(d.dir, 0o700),
		run(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", d.image()),
		run(ctx, "mount", "-o", "loop", d.image(), d.dir))
}

func (d *disk) remove() { _ = unix.Unmount(d.dir, unix.MNT_DETACH) }

// FillDisk fills the file system of the daemon's state to its last byte, until MendDisk.
func (d *disk) FillDisk() error {
	d.access.Lock()
	defer d.access.Unlock()
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	d.filled = true
	for _, piece := range [][]byte{make([]byte, 1<<20), make([]byte, 4096), {0}} {
		for err = nil; err == nil; {
			_, err = f.Write(piece)
		}
		if !errors.Is(err, unix.ENOSPC) {
			return err
		}
	}
	return f.Sync()
}

// ReadOnlyDisk has the file system of the daemon's state refuse every change, also of files that are open, until MendDisk. The error is
// EPERM: an ext4 that went read-only (EROFS) would need a repair, and with it an end of the daemon.
func (d *disk) ReadOnlyDisk() error {
	d.access.Lock()
	defer d.access.Unlock()
	return filepath.WalkDir(d.dir, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the daemon took it away just now
			return nil
		}
		if err == nil {
			err = immutable(path, true)
		}
		if err == nil {
			d.fixed = append(d.fixed, path)
		}
		return err
	})
}

// MendDisk ends what FillDisk and ReadOnlyDisk did.
func (d *disk) MendDisk() error {
	d.access.Lock()
	defer d.access.Unlock()
	for _, path := range d.fixed {
		if err := immutable(path, false); err != nil {
			return err
		}
	}
	d.fixed = nil
	if d.filled {
		d.filled = false
		return os.Remove(d.ballast())
	}
	return nil
}

// immutableFlag is FS_IMMUTABLE_FL of linux/fs.h.
const immutableFlag = 0x10

// immutable sets or takes away the flag by which ext4 refuses every change of a file or a folder.
func immutable(path string, on bool) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return fmt.Errorf("flags of %s: %w", path, err)
	}
	flags &^= immutableFlag
	if on {
		flags |= immutableFlag
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags)); err != nil {
		return fmt.Errorf("flags of %s: %w", path, err)
	}
	return nil
}
