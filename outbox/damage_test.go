// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// sample is a file that has some of everything, and enough of it that its trees have branches. All of it up to used bytes
// belongs to it.
func sample(t *testing.T) (file []byte, used int64, refs []Ref) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "outbox.db")
	s := open(t, path, Options{})
	var all []Intent
	for i := range 50 {
		in := newIntent(fmt.Sprintf("host-%d/w48", i))
		all = append(all, in)
		refs = append(refs, in.Ref)
	}
	fill(t, s, all)
	for _, ref := range refs[:10] {
		if err := errors.Join(s.Record(Outcome{Ref: ref, Channel: "ops", Number: 1, Status: Sent}, time.Now(), true), s.Shut(ref)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.view(func(t *tx) error { used = t.Size(); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, used, refs
}

// use calls everything. It may fail as damaged, and as full: a length with a wrong bit can ask for any room.
func use(t *testing.T, s *Store, refs []Ref) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrFull) {
			t.Errorf("a damaged file is answered with %v", err)
		}
	}
	for _, ref := range refs {
		_, err := s.Get(ref)
		check(err)
		_, _, err = s.Receipt(ref.Ticket, 1, "ops")
		check(err)
	}
	_, err := s.List("", 1000)
	check(err)
	_, _, err = s.Due(time.Now(), 1000)
	check(err)
	s.db.NoSync = true // it is faster, and nothing here depends on it
	for _, ref := range refs[5:15] {
		check(s.Record(Outcome{Ref: ref, Channel: "ops", Number: 2, Status: Pending}, time.Now(), false))
		check(s.Shut(ref))
	}
	in := newIntent("web-01/w48")
	check(s.Stage(in))
	check(s.Drop(in.Ref))
	check(s.Close())
}

func TestF21_ADamagedFileNeverPanics(t *testing.T) {
	t.Parallel()
	file, used, refs := sample(t)
	page := os.Getpagesize()
	pages := len(file) / page
	r := rand.New(rand.NewPCG(1, 2))
	garbage := make([]byte, page)
	for i := range garbage {
		garbage[i] = byte(r.Uint32())
	}
	spoil := map[string]func(b []byte) []byte{
		"one byte":       func(b []byte) []byte { return b[:1] },
		"half a page":    func(b []byte) []byte { return b[:page/2] },
		"no meta page":   func(b []byte) []byte { clear(b[:2*page]); return b },
		"all garbage":    func(b []byte) []byte { r := rand.NewChaCha8([32]byte{}); _, _ = r.Read(b); return b },
		"text":           func([]byte) []byte { return []byte("this is not a database\n") },
		"one meta page":  func(b []byte) []byte { copy(b, garbage); return b },
		"other one":      func(b []byte) []byte { copy(b[page:], garbage); return b },
		"cut in the end": func(b []byte) []byte { return b[:len(b)-1] },
	}
	for i := 2; i < pages; i++ {
		at := i * page
		spoil[fmt.Sprintf("cut at page %d", i)] = func(b []byte) []byte { return b[:at+r.IntN(page)] }
		spoil[fmt.Sprintf("garbage at page %d", i)] = func(b []byte) []byte { copy(b[at:], garbage); return b }
		spoil[fmt.Sprintf("zeros at page %d", i)] = func(b []byte) []byte { clear(b[at : at+page]); return b }
		spoil[fmt.Sprintf("page %d of elsewhere", i)] = func(b []byte) []byte { copy(b[at:at+page], b[r.IntN(pages)*page:]); return b }
		spoil[fmt.Sprintf("flips at page %d", i)] = func(b []byte) []byte {
			for range 20 {
				b[at+16+r.IntN(page-16)] ^= 1 << r.IntN(8) // past the page's own id and flags
			}
			return b
		}
	}
	path := filepath.Join(memoryDir(t), "outbox.db")
	damaged := 0
	for name, spoil := range spoil {
		if err := os.WriteFile(path, spoil(append([]byte(nil), file...)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		switch {
		case err == nil:
			if info, err := os.Stat(path); err != nil || info.Size() < used {
				t.Errorf("%s: Open took it", name)
			}
			use(t, s, refs)
		case !errors.Is(err, ErrDamaged):
			t.Errorf("%s: Open says %v", name, err)
		default:
			damaged++
		}
		aside, err := SetAside(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: it is still in the way: %v", name, err)
		}
		if err := os.Remove(aside); err != nil {
			t.Fatal(err)
		}
	}
	if damaged < pages {
		t.Errorf("of %d kinds of damage on %d pages only %d were found", len(spoil), pages, damaged)
	}
	fresh := open(t, path, Options{})
	if err := fresh.Stage(newIntent("web-01/w48")); err != nil {
		t.Errorf("beside what was set aside a new one says %v", err)
	}
}

func TestF21_DamageUnderAnOpenFileIsAnError(t *testing.T) {
	t.Parallel()
	file, _, refs := sample(t)
	path := filepath.Join(t.TempDir(), "outbox.db")
	for name, spoil := range map[string]func() error{
		"garbage": func() error {
			for i := range file {
				file[i] = byte(i * i)
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(file[2*os.Getpagesize():], int64(2*os.Getpagesize()))
			return errors.Join(err, f.Close())
		},
		"cut": func() error { return os.Truncate(path, int64(2*os.Getpagesize())) },
	} {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(refs[0]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: Get says %v", name, err)
		}
		for range 2 {
			if err := s.Stage(newIntent("web-01/w48")); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: Stage says %v", name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close says %v", name, err)
		}
		if _, err := SetAside(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		file, _, refs = sample(t)
	}
}
