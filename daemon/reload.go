// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"github.com/picketd/picket/audit"
)

// Reload reads the configuration's file again and logs what is wrong with it, or which keys have changed. None of them takes
// effect before the next start, nor does a secret that was changed in its file: what a reload gives is the word that a
// restart would succeed, but for systemd's credentials, which this process cannot see as they are now. It waits for the end of a start, and tells systemd only of a daemon that is started. Its error is an
// ErrConfig.
func (d *Daemon) Reload() error {
	if d.isStarted() { // else READY would come too early
		d.notifySystemd(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", systemd.SdNotifyReloading, monotonic().Microseconds()))
		defer d.notifySystemd(systemd.SdNotifyReady)
	}
	c, err := LoadConfigStaleCredentials(d.config.path)
	if err == nil {
		err = c.CheckState(os.Getpid())
	}
	if err != nil {
		d.audit.Record(configRefused(err))
		d.log.Error("the configuration on disk is wrong; the daemon goes on with the one that it has", "error", err)
		return err
	}
	if changed := changedKeys(reflect.ValueOf(d.config), reflect.ValueOf(c), ""); len(changed) > 0 {
		d.audit.Record(audit.Event{Kind: audit.ConfigReloaded, Reason: "changed: " + strings.Join(changed, " ")})
		d.log.Warn("the configuration has changed; it is valid, and takes effect at the next start", "keys", strings.Join(changed, " "))
		return nil
	}
	d.audit.Record(audit.Event{Kind: audit.ConfigReloaded, Reason: "nothing has changed"})
	d.log.Info("the configuration has not changed")
	return nil
}

// configRefused counts what is wrong: the words may quote what should be a secret, and the log is for whoever mends it.
func configRefused(err error) audit.Event {
	faults := strings.Count(err.Error(), "\n") + 1
	return audit.Event{Kind: audit.ConfigRefused, Reason: fmt.Sprintf("%d wrong: the log says what", faults)}
}

// RefuseStart tells the journal, if there is one, that a wrong configuration kept a daemon from starting: the only record of that
// run. It takes 3 s at most.
func RefuseStart(err error) {
	e := configRefused(err)
	e.Host, _ = os.Hostname()
	audit.Once(e)
}

func (d *Daemon) isStarted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.phase == started
}

// monotonic is CLOCK_MONOTONIC, by which systemd tells this reload's READY from an earlier one's (sd_notify(3)).
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail: every Linux has this clock
	return time.Duration(t.Nano())
}

// changedKeys are the paths of the keys that differ between two tables.
func changedKeys(a, b reflect.Value, path string) []string {
	var keys []string
	for f := range a.Type().Fields() {
		key := path + f.Tag.Get("toml")
		switch x, y := a.FieldByIndex(f.Index), b.FieldByIndex(f.Index); {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct:
			keys = append(keys, changedKeys(x, y, key+".")...)
		case !reflect.DeepEqual(x.Interface(), y.Interface()):
			keys = append(keys, key)
		}
	}
	return keys
}
