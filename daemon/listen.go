// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/sockapi"
)

// listen takes the sockets that systemd passes, or makes the one that is configured, unless they must be passed: own is its path
// then.
func (d *Daemon) listen() (listeners []net.Listener, own string, err error) {
	listeners, err = activation.Listeners()
	if err != nil {
		return nil, "", fmt.Errorf("cannot take the sockets from systemd: %w", err)
	}
	for _, l := range listeners {
		if _, ok := l.(*net.UnixListener); !ok {
			closeAll(listeners)
			return nil, "", errors.New("cannot serve on a socket that systemd passed: write ListenStream= with an absolute path, and nothing else, in the .socket unit")
		}
	}
	if len(listeners) > 0 {
		return listeners, "", nil
	}
	if d.passed {
		return nil, "", strict.Error{"systemd passed no socket, as it does when picketd.socket was changed and not restarted: systemctl stop picketd.socket picketd.service, then systemctl start picketd.socket picketd.service"}
	}
	s := d.config.Socket
	mode, err := s.mode()
	if err != nil {
		return nil, "", err
	}
	l, err := sockapi.Listen(sockapi.Socket{Path: s.Path, Mode: mode, Group: s.Group, GroupOptional: !s.groupSet}, d.log)
	if err != nil {
		return nil, "", err
	}
	return []net.Listener{l}, s.Path, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		if l != nil {
			_ = l.Close()
		}
	}
}

// socketEvery is how often the daemon looks whether its sockets are still where agents look for them.
const socketEvery = 5 * time.Second

// servedPaths are those of the listeners. One of systemd's that cannot be seen from here is not looked after.
func servedPaths(listeners []net.Listener, own string) (paths []servedPath) {
	for _, l := range listeners {
		path := cmp.Or(own, l.Addr().String()) // the listener of our own has the name that it was bound by
		if made, err := os.Lstat(path); err == nil && made.Mode().Type() == fs.ModeSocket && !strings.HasPrefix(path, "@") {
			paths = append(paths, servedPath{path, made})
		}
	}
	return paths
}

// reachable says what has become of the daemon's sockets.
func (d *Daemon) reachable() error {
	for _, s := range d.paths {
		now, err := os.Lstat(s.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("the socket %s was removed, so that no agent finds this daemon: a cleaner of temporary files does that; keep it under /run", s.path)
		case err == nil && !os.SameFile(now, s.made):
			return fmt.Errorf("the socket %s was replaced, so that no agent finds this daemon: another process listens there, or did", s.path)
		}
	}
	return nil
}

// watchSockets ends the daemon when its socket is gone, since the next start makes another. A socket of systemd's only that can make
// again: the daemon says so, and serves who is connected.
func (d *Daemon) watchSockets(ctx context.Context, activated bool) {
	tick := time.NewTicker(socketEvery)
	defer tick.Stop()
	for told := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := d.reachable()
		switch {
		case err == nil:
			told = false
		case !activated:
			d.fail(err)
			return
		case !told:
			told = true
			d.log.Error("restart the socket unit: systemctl restart picketd.socket", "error", err)
		}
	}
}
