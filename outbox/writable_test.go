// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Where there is room, and nothing has failed, asking costs no write; after a failure it is tried.
func TestWritable_WritesOnlyWhereItIsInDoubt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	s := open(t, path, Options{})
	if !s.ample() {
		t.Skip("this disk has hardly any room")
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same := func() bool {
		t.Helper()
		if err := s.Writable(); err != nil {
			t.Error(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(before) == string(after)
	}
	if !same() {
		t.Error("it wrote")
	}
	s.failed.Store(true)
	if same() || s.failed.Load() {
		t.Error("it did not write")
	}
	before, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !same() {
		t.Error("it writes on after it succeeded")
	}
	if err := errors.Join(s.Close(), s.Writable()); !errors.Is(err, errClosed) {
		t.Errorf("closed it says %v", err)
	}
}
