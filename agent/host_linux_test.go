// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTheHostIsBlamedForWhatEveryAssetWouldMeet: and for nothing else.
func TestTheHostIsBlamedForWhatEveryAssetWouldMeet(t *testing.T) {
	t.Parallel()
	for err, host := range map[error]bool{
		&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}: true,
		&os.PathError{Op: "open", Err: syscall.ENOSPC}:                              true,
		&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}:                          false,
		&os.PathError{Op: "open", Err: syscall.ENOENT}:                              false,
		context.DeadlineExceeded:                                                    false,
	} {
		if isHost(blame(err)) != host {
			t.Errorf("%v is the host's: %v", err, !host)
		}
	}
	in := invocation{argv: []string{filepath.Join(t.TempDir(), "scanner")}}
	if err := in.run(t.Context()); !isHost(err) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a scanner that is not there: %v", err)
	}
}
