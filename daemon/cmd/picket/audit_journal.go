// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// readJournal hands over the records that are in the journal of this host. Anybody can write to the journal, and give a record any
// field but those that journald vouches for; so records of other users than root, picketd and the reader are left out.
func (l *auditLog) readJournal(ctx context.Context, filter *auditFilter, follow bool, each func(*auditEntry) error) error {
	args := []string{"--output=json", "--all", "--no-pager"}
	if !filter.since.IsZero() {
		args = append(args, "--since=@"+strconv.FormatInt(filter.since.Unix(), 10))
	}
	if follow {
		args = append(args, "--follow", "--no-tail")
	}
	if err := mayReadJournal(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := journalctl(ctx, append(args, filter.fields()...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return exitf(exitUnavailable, "cannot run journalctl: %v", err)
	}
	failed := l.read(out, "the journal", each)
	if failed != nil {
		cancel()
	}
	ended := cmd.Wait()
	if failed != nil {
		return failed
	}
	return journalError(ctx, ended, said.String())
}

// journalctl is one whose words can be read, whatever the user has set.
func journalctl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "journalctl", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_LOG_LEVEL=info", "SYSTEMD_LOG_TARGET=console")
	return cmd
}

// mayReadJournal finds out whether there is a journal, and this user sees what others wrote there. journalctl says so only where
// it prints for people: with --output=json it is silent, and shows a user its own records only.
func mayReadJournal(ctx context.Context) error {
	cmd := journalctl(ctx, "--lines=0", "--no-pager")
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return exitf(exitUnavailable, "there is no journalctl, which comes with systemd; without a journal the daemon writes its records to standard error: give --file where they are kept")
	}
	return journalError(ctx, err, said.String())
}

// journalSenders are the uids of root, of the user that the package makes, and of the reader, whose own daemon it may be.
func journalSenders() []string {
	uids := []string{"0", strconv.Itoa(os.Getuid())}
	if u, err := user.Lookup("picketd"); err == nil {
		uids = append(uids, u.Uid)
	}
	return uids
}

// journalError says what the end of journalctl means, and what would be right.
func journalError(ctx context.Context, ended error, said string) error {
	switch {
	case ctx.Err() != nil: // it was told to end
		return nil
	case strings.Contains(said, "insufficient permissions"), strings.Contains(said, "not seeing messages from"):
		return exitf(exitNoPerm, "this user may not read the whole journal: join the group systemd-journal or adm, or be root")
	case strings.Contains(said, "No journal files were found"):
		return exitf(exitUnavailable, "there are no journal files on this host; without a journal the daemon writes its records to standard error: give --file where they are kept")
	case ended != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		return exitf(exitUnavailable, "cannot read the journal: journalctl ended with %v: %s", ended, line)
	}
	return nil
}
