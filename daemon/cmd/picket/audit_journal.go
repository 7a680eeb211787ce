// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// readJournal hands over the records that are in the journal of this host. Anybody can write to the journal, and give a record any
// field but those that journald vouches for; so records of other users than root, picket and the reader are left out.
func readJournal(ctx context.Context, errs io.Writer, filter *auditFilter, follow bool, each func(*auditEntry) error) error {
	args := []string{"--output=json", "--all", "--no-pager"}
	if !filter.since.IsZero() {
		args = append(args, "--since=@"+strconv.FormatInt(filter.since.Unix(), 10))
	}
	if follow {
		args = append(args, "--follow", "--no-tail")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "journalctl", append(args, filter.fields()...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C") // its words are read
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return exitf(exitUnavailable, "there is no journalctl, which comes with systemd; without a journal the daemon writes its records to standard error: give --file where they are kept")
	} else if err != nil {
		return exitf(exitUnavailable, "cannot run journalctl: %v", err)
	}
	trusted, strangers := journalSenders(), map[string]int{}
	failed := readAudit(out, func(e *auditEntry) error {
		if !slices.Contains(trusted, e.sender) {
			strangers[e.sender]++
			return nil
		}
		return each(e)
	})
	if failed != nil {
		cancel()
	}
	ended := cmd.Wait()
	for uid, n := range strangers {
		fmt.Fprintf(errs, "picket: left out %s of uid %s, who is not the daemon\n", plural(n, "record", "records"), clean(uid))
	}
	if failed != nil {
		return failed
	}
	return journalError(ctx, ended, said.String())
}

// journalSenders are the uids of root, of the user that the package makes, and of the reader, whose own daemon it may be.
func journalSenders() []string {
	uids := []string{"0", strconv.Itoa(os.Getuid())}
	if u, err := user.Lookup("picket"); err == nil {
		uids = append(uids, u.Uid)
	}
	return uids
}

// journalError says what the end of journalctl means, and what would be right.
func journalError(ctx context.Context, ended error, said string) error {
	switch {
	case ctx.Err() != nil: // it was told to end
		return nil
	case strings.Contains(said, "insufficient permissions"), strings.Contains(said, "not seeing messages from other users"):
		return exitf(exitNoPerm, "this user may not read the whole journal: join the group systemd-journal or adm, or be root")
	case strings.Contains(said, "No journal files were found"):
		return exitf(exitUnavailable, "there are no journal files on this host; without a journal the daemon writes its records to standard error: give --file where they are kept")
	case ended != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		return exitf(exitUnavailable, "cannot read the journal: journalctl ended with %v: %s", ended, line)
	}
	return nil
}
