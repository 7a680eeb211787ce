// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatBecomesOfASocketOfSystemd: it is told whether the path is gone or is another's; one that cannot be seen is left alone.
func TestWhatBecomesOfASocketOfSystemd(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "picket-sock-") // short, because a socket's path must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listen := func(name string) net.Listener {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	ours, unseen := listen("s"), listen("unseen")
	if err := os.Remove(unseen.Addr().String()); err != nil {
		t.Fatal(err)
	}
	d := &Daemon{paths: servedPaths([]net.Listener{ours, unseen}, "")}
	if err := d.reachable(); err != nil || len(d.paths) != 1 {
		t.Errorf("of %d sockets it says %v", len(d.paths), err)
	}
	other := listen("other").Addr().String()
	if err := os.Rename(other, ours.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if err := d.reachable(); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("of a socket that was replaced it says %v", err)
	}
	if err := os.Remove(ours.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if err := d.reachable(); err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("of a socket that was removed it says %v", err)
	}
}
