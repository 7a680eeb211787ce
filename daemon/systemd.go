// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"fmt"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// openLimit is what systemd is asked for to open the outbox in, which is read as a whole: a few hundred MiB on a slow disk.
const openLimit = 5 * time.Minute

func (d *Daemon) notifySystemd(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		d.log.Warn("cannot tell systemd", "state", state, "error", err)
	}
}

// extendStart tells systemd that the start is getting on and needs so much more time at most.
func (d *Daemon) extendStart(more time.Duration) {
	d.notifySystemd(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", more.Microseconds()))
}

// systemdWatchdog is within which time systemd wants to hear of progress (WatchdogSec), or 0.
func systemdWatchdog() time.Duration {
	every, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		return 0
	}
	return every
}

// progress is called by the renewal loop, and does not wait for systemd.
func (d *Daemon) progress() {
	select {
	case d.beats <- struct{}{}:
	default:
	}
}

// watchedBySystemd passes the renewal loop's progress on, if systemd wants to hear of it.
func (d *Daemon) watchedBySystemd() {
	if systemdWatchdog() == 0 {
		return
	}
	d.background("the word to systemd's watchdog", func(ctx context.Context) {
		for {
			select {
			case <-d.beats:
				d.notifySystemd(systemd.SdNotifyWatchdog)
			case <-ctx.Done():
				return
			}
		}
	})
}
