// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What may keep a reader from the journal.
var (
	ErrDenied    = errors.New("this user may not read the whole journal: join the group systemd-journal or adm, or be root")
	ErrNoJournal = errors.New("cannot read the journal")
)

const noJournal = "without a journal the daemon writes its records to standard error: give --file where they are kept"

// Journal are the records that are in the journal of this host, and with follow those to come, until ctx is done. Anybody can write to
// the journal, and give a record any field but those that journald vouches for; so records of others than the daemon are left out.
// Filter says only what journalctl need not hand over.
func (r *Reader) Journal(ctx context.Context, filter *Filter, follow bool) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		if err := mayReadJournal(ctx); err != nil {
			yield(nil, err)
			return
		}
		args := []string{"--output=json", "--all", "--no-pager"}
		if !filter.Since.IsZero() {
			args = append(args, "--since=@"+strconv.FormatInt(filter.Since.Unix(), 10))
		}
		if follow {
			args = append(args, "--follow", "--no-tail")
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		cmd := journalctl(ctx, append(args, filter.matches()...)...)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := start(cmd)
		if err != nil {
			yield(nil, err)
			return
		}
		for record, err := range r.Lines(out, "the journal") {
			if !yield(record, err) || err != nil {
				cancel()
				_ = cmd.Wait()
				return
			}
		}
		if err := journalError(ctx, cmd.Wait(), said.String()); err != nil {
			yield(nil, err)
		}
	}
}

// journalctl is one whose words can be read, whatever the user has set.
func journalctl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "journalctl", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_LOG_LEVEL=info", "SYSTEMD_LOG_TARGET=console")
	return cmd
}

func start(journalctl *exec.Cmd) (io.Reader, error) {
	out, err := journalctl.StdoutPipe()
	if err == nil {
		err = journalctl.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: journalctl does not start: %w", ErrNoJournal, err)
	}
	return out, nil
}

// mayReadJournal finds out whether there is a journal, and this user sees what others wrote there. journalctl says so only where
// it prints for people: with --output=json it is silent, and shows a user its own records only.
func mayReadJournal(ctx context.Context) error {
	cmd := journalctl(ctx, "--lines=0", "--no-pager")
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: there is no journalctl, which comes with systemd; %s", ErrNoJournal, noJournal)
	}
	return journalError(ctx, err, said.String())
}

// journalError says what the end of journalctl means, and what would be right.
func journalError(ctx context.Context, ended error, said string) error {
	switch {
	case ctx.Err() != nil: // it was told to end
		return nil
	case strings.Contains(said, "insufficient permissions"), strings.Contains(said, "not seeing messages from"):
		return ErrDenied
	case strings.Contains(said, "No journal files were found"):
		return fmt.Errorf("%w: there are no journal files on this host; %s", ErrNoJournal, noJournal)
	case ended != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		return fmt.Errorf("%w: journalctl ended with %w: %s", ErrNoJournal, ended, line)
	}
	return nil
}

// JournalBegins is the time of the oldest entry that the journal has from the system's services, of whomever: files are rotated
// whole, so what is younger has not been rotated away.
func JournalBegins(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := journalctl(ctx, "--system", "--output=json", "--no-pager", "--output-fields=PRIORITY")
	out, err := start(cmd)
	if err != nil {
		return time.Time{}, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	cancel() // one entry is enough
	_ = cmd.Wait()
	var entry struct {
		Time string `json:"__REALTIME_TIMESTAMP"`
	}
	if err == nil {
		err = json.Unmarshal(line, &entry)
	}
	micros, bad := strconv.ParseInt(entry.Time, 10, 64)
	if err != nil || bad != nil {
		return time.Time{}, fmt.Errorf("%w: where it begins is not known, journalctl said %q", ErrNoJournal, line)
	}
	return time.UnixMicro(micros), nil
}
