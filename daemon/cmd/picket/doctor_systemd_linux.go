// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

const (
	credentials    = "/etc/picket/credentials"
	credentialMost = 1 << 20 // bytes that systemd hands over as one credential (systemd.exec(5))
	credentialExit = 243     // what systemd ends a service with that cannot have its credentials
	startAgain     = "systemctl reset-failed picketd.socket picketd.service; systemctl stop picketd.socket picketd.service; systemctl start picketd.socket picketd.service"
	journalSocket  = "/run/systemd/journal/socket"
)

var credentialForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// unit is what systemd says of one.
type unit map[string]string

// askSystemd returns nil where there is no systemd, or no such unit.
func askSystemd(ctx context.Context, name string) unit {
	out, err := exec.CommandContext(ctx, "systemctl", "show", name,
		"--property=LoadState,ActiveState,SubState,Result,NRestarts,ExecMainCode,ExecMainStatus,User,ConditionResult,ConditionTimestampMonotonic,UnitFileState,Listen").Output()
	if err != nil {
		return nil
	}
	u := unit{}
	for line := range strings.SplitSeq(string(out), "\n") {
		key, value, _ := strings.Cut(line, "=")
		if key == "Listen" && u[key] != "" { // a line for each
			value = u[key] + "\n" + value
		}
		u[key] = value
	}
	if u["LoadState"] == "not-found" {
		return nil
	}
	return u
}

func (u unit) active() bool { return u["ActiveState"] == "active" || u["ActiveState"] == "reloading" }

// end says how the unit's process ended last.
func (u unit) end() string {
	status, _ := strconv.Atoi(u["ExecMainStatus"])
	switch code, _ := strconv.Atoi(u["ExecMainCode"]); code { // CLD_EXITED, CLD_KILLED, CLD_DUMPED of waitid(2)
	case 1:
		return fmt.Sprintf("it ended with %d", status)
	case 2, 3:
		return "it was ended by " + unix.SignalName(syscall.Signal(status))
	}
	return "it has not run"
}

// service looks at picketd.service, and reports whether systemd runs the daemon, or would not know.
func (d *diagnosis) service(ctx context.Context) (running bool) {
	u := askSystemd(ctx, "picketd.service")
	switch {
	case u == nil:
		return true
	case u["LoadState"] != "loaded":
		right := "systemctl status picketd.service says why"
		if u["LoadState"] == "masked" {
			right = "systemctl unmask picketd.service; systemctl start picketd.socket picketd.service"
		}
		d.wrong("service", right, "systemd does not start picketd.service, which is %s", u["LoadState"])
		return u.active()
	case u.active():
		d.ok("service", "picketd.service is active, and was started again %s", plural(number(u["NRestarts"]), "time", "times"))
		return true
	}
	found := fmt.Sprintf("picketd.service is %s (%s, %s): %s, and was started again %s%s", u["ActiveState"], u["SubState"], u["Result"], u.end(),
		plural(number(u["NRestarts"]), "time", "times"), u.lastError(ctx, "picketd.service"))
	right := "mend what it says; it is tried again within some 6 s"
	socket := askSystemd(ctx, "picketd.socket")
	switch {
	case u["ExecMainStatus"] == strconv.Itoa(credentialExit):
		right = "mend " + credentials + ", see below; it is tried again within some 6 s"
	case u["ActiveState"] == "failed" || socket != nil && socket["ActiveState"] == "failed":
		right = "mend what it says, then: " + startAgain
	case u["ActiveState"] == "inactive":
		right = "systemctl start picketd.socket picketd.service"
	}
	d.wrong("service", right, "%s", found)
	return false
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// lastError is what the unit last said of an error, as far as this user may read it; nothing of one that has not failed. What systemd
// itself says of the unit comes last, and says less.
func (u unit) lastError(ctx context.Context, name string) string {
	if u["ActiveState"] == "inactive" && u["Result"] == "success" {
		return ""
	}
	for _, of := range []string{"_SYSTEMD_UNIT=" + name, "--unit=" + name} {
		out, _ := exec.CommandContext(ctx, "journalctl", of, "--priority=err", "--lines=1", "--output=cat", "--no-pager", "--quiet").Output()
		if line, _, _ := strings.Cut(string(out), "\n"); line != "" {
			return "; it said: " + strings.TrimPrefix(line, "picket: ")
		}
	}
	return ""
}

// journal tries whether somebody takes what the daemon says.
func (d *diagnosis) journal(ctx context.Context) {
	if askSystemd(ctx, "picketd.service") == nil {
		return
	}
	conn, err := net.Dial("unixgram", journalSocket)
	if err != nil {
		d.warn("journal", "systemctl start systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service",
			"journald is away: nothing is logged, and records of the audit wait and are dropped in the end: %v", err)
		return
	}
	_ = conn.Close()
}

// credentials looks at the files that systemd hands over, if this user may.
func (d *diagnosis) credentials(ctx context.Context) {
	if os.Geteuid() != 0 || askSystemd(ctx, "picketd.service") == nil {
		return
	}
	if _, err := os.Stat(credentials); err != nil {
		d.wrong("credentials", "install -d -m 700 "+credentials+", even if it stays empty", "systemd starts no daemon without the folder: %v", err)
		return
	}
	_ = filepath.WalkDir(credentials, func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return nil //nolint:nilerr // a folder is gone again
		}
		if !credentialForm.MatchString(f.Name()) {
			d.wrong("credentials", "rename it: letters, digits, . _ and - only", "systemd cannot hand over %q", path)
		}
		if info, err := os.Stat(path); err == nil && info.Size() > credentialMost {
			d.wrong("credentials", "take it away: a secret is a line", "systemd cannot hand over %s, which has more than %d bytes", path, credentialMost)
		}
		return nil
	})
}

// asDaemon has the daemon's user check the configuration, and where its state is, which root's rights tell nothing about.
func (d *diagnosis) asDaemon(c *cli.Context) {
	ctx, cancel := context.WithTimeout(c.Context, doctorLimit)
	defer cancel()
	u := askSystemd(ctx, "picketd.service")
	if os.Geteuid() != 0 || u == nil || u["User"] == "" {
		return
	}
	name := u["User"]
	who, err := user.Lookup(name)
	if err != nil {
		d.wrong("user", "systemd-sysusers picket.conf", "%v", err)
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.CommandContext(ctx, self, "daemon", "--check", "--stale-credentials", "--config", c.String("config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(number(who.Uid)), Gid: uint32(number(who.Gid))}}
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		found := strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(said.String()), "\npicket: ", "\n"), "picket: ")
		if found == "" {
			found = err.Error()
		}
		d.wrong("rights", "", "user %s, which is the daemon's: %s", name, found)
		return
	}
	d.ok("rights", "user %s, which is the daemon's, can read and write what it must", name)
}

// nightly looks at the last run of picket-run.service, if somebody wants one.
func (d *diagnosis) nightly(ctx context.Context) {
	timer, run := askSystemd(ctx, "picket-run.timer"), askSystemd(ctx, "picket-run.service")
	const right = "journalctl -u picket-run.service says why; then: systemctl start picket-run.service"
	switch {
	case timer == nil || run == nil || timer["UnitFileState"] != "enabled" && run["ActiveState"] != "failed":
		return
	case run["ActiveState"] == "failed":
		d.wrong("nightly", right, "picket-run.service failed (%s): %s%s", run["Result"], run.end(), run.lastError(ctx, "picket-run.service"))
	case !timer.active():
		d.wrong("nightly", "systemctl start picket-run.timer", "picket-run.timer is enabled, but %s: no run begins", timer["ActiveState"])
	case run["ConditionResult"] == "no" && number(run["ConditionTimestampMonotonic"]) > 0:
		d.wrong("nightly", "write /etc/picket/assets, or disable picket-run.timer", "the last run was skipped, for the list was missing")
	default:
		d.ok("nightly", "picket-run.timer is active, and the last run is no failure")
	}
}
