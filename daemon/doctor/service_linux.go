// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent/plain"
)

// service looks at picketd.service. The daemon counts as running, too, where systemd would not know.
func (v *visit) service(ctx context.Context) {
	u := askSystemd(ctx, "picketd.service")
	v.running = u == nil || u.active()
	switch {
	case u == nil:
		return
	case u["LoadState"] != "loaded":
		right := "systemctl status picketd.service says why"
		if u["LoadState"] == "masked" {
			right = "systemctl unmask picketd.service; systemctl start picketd.socket picketd.service"
		}
		v.wrong("service", right, "systemd does not start picketd.service, which is %s", u["LoadState"])
		return
	case u.active():
		v.ok("service", "picketd.service is active, and was started again %s", plain.Count(number(u["NRestarts"]), "time", "times"))
		return
	}
	found := fmt.Sprintf("picketd.service is %s (%s, %s): %s, and was started again %s%s", u["ActiveState"], u["SubState"], u["Result"], u.end(),
		plain.Count(number(u["NRestarts"]), "time", "times"), u.lastError(ctx, "picketd.service"))
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
	v.wrong("service", right, "%s", found)
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
func (v *visit) journal(ctx context.Context) {
	if askSystemd(ctx, "picketd.service") == nil {
		return
	}
	conn, err := net.Dial("unixgram", v.journald)
	if err != nil {
		v.warn("journal", "systemctl start systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service",
			"journald is away: nothing is logged, and records of the audit wait and are dropped in the end: %v", err)
		return
	}
	_ = conn.Close()
}

// nightly looks at the last run of picket-run.service, if somebody wants one.
func (v *visit) nightly(ctx context.Context) {
	timer, run := askSystemd(ctx, "picket-run.timer"), askSystemd(ctx, "picket-run.service")
	const right = "journalctl -u picket-run.service says why; then: systemctl start picket-run.service"
	switch {
	case timer == nil || run == nil || timer["UnitFileState"] != "enabled" && run["ActiveState"] != "failed":
		return
	case run["ActiveState"] == "failed":
		v.wrong("nightly", right, "picket-run.service failed (%s): %s%s", run["Result"], run.end(), run.lastError(ctx, "picket-run.service"))
	case !timer.active():
		v.wrong("nightly", "systemctl start picket-run.timer", "picket-run.timer is enabled, but %s: no run begins", timer["ActiveState"])
	case run["ConditionResult"] == "no" && number(run["ConditionTimestampMonotonic"]) > 0:
		v.wrong("nightly", "write /etc/picket/assets, or disable picket-run.timer", "the last run was skipped, for the list was missing")
	default:
		v.ok("nightly", "picket-run.timer is active, and the last run is no failure")
	}
}

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

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
