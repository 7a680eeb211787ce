// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"net"

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
