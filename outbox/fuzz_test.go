// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzFile: whatever is done to a file of the outbox, at two places at once, it is read, or it is damaged; what is read of it is what
// was written, because each record has its checksum; and nothing panics.
func FuzzFile(f *testing.F) {
	dir, err := os.MkdirTemp("/dev/shm", "picket-outbox-") // where a sync costs nothing
	if err != nil {
		dir = f.TempDir()
	}
	f.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "outbox.db")
	s, err := Open(path, Options{})
	if err != nil {
		f.Fatal(err)
	}
	s.db.NoSync = true
	var refs []Ref
	for _, ticket := range []string{"web-01/w48", "web-02/w48", "web-03/w48"} {
		in := newIntent(ticket)
		in.ID, in.Nonce, in.At = "id-of-"+ticket, "n", time.Unix(1_796_000_000, 0) // the same in each run, so that a failure comes again
		refs = append(refs, in.Ref)
		if err := errors.Join(s.Stage(in), s.Commit(in.Ref)); err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(s.Record(Outcome{Ref: refs[0], Channel: "ops", Number: 1, Status: Sent}, time.Now(), true), s.Shut(refs[0])); err != nil {
		f.Fatal(err)
	}
	content := newIntent("web-01/w48").Content
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint(0), []byte{0xff}, uint(4096), []byte{0}, uint(0))
	f.Add(uint(3*4096+20), []byte("web-09"), uint(0), []byte{}, uint(0))
	f.Add(uint(0), []byte{}, uint(0), []byte{}, uint(5000))
	f.Fuzz(func(t *testing.T, at uint, spoilt []byte, also uint, more []byte, cut uint) {
		b := append([]byte{}, whole...)
		copy(b[at%uint(len(b)):], spoilt)
		copy(b[also%uint(len(b)):], more)
		b = b[:uint(len(b))-cut%uint(len(b))]
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFull) {
				t.Fatalf("a damaged file is answered with %v", err)
			}
			return
		}
		s.db.NoSync = true
		for _, ref := range refs {
			in, err := s.Get(ref)
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotFound) {
				t.Fatalf("a damaged intent is answered with %v", err)
			}
			if err == nil && in.Origin != Closed && string(in.Content) != string(content) {
				t.Fatalf("%s says %q", ref.Ticket, in.Content)
			}
		}
		if _, err := s.List("", 100); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		if _, _, err := s.Due(time.Now().Add(time.Hour), 100); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		if err := s.Stage(newIntent("web-04/w48")); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
