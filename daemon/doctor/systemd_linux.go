// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

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
