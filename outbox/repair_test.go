// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// contents are the intents of a file as Get returns them, by id.
func contents(t *testing.T, s *Store, refs []Ref) map[string]Intent {
	t.Helper()
	all := map[string]Intent{}
	for _, ref := range refs {
		in, err := s.Get(ref)
		switch {
		case err == nil:
			all[ref.ID] = in
		case !errors.Is(err, ErrNotFound):
			t.Errorf("Get says %v", err)
		}
	}
	return all
}

// TestF21_AFlippedBitIsFound wherever it is: either the file is refused, or the intent that it concerns is taken out and told of, and
// all others are as they were.
func TestF21_AFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	file, _, refs := sample(t)
	path := filepath.Join(memoryDir(t), "outbox.db")
	spoil := func(at int, bit byte) *Store {
		spoilt := bytes.Clone(file)
		spoilt[at] ^= bit
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("bit %d of byte %d: Open says %v", bit, at, err)
		}
		return s
	}
	intact := spoil(0, 0)
	want := contents(t, intact, refs)
	if err := intact.Close(); err != nil || len(want) != len(refs) || intact.Damaged() != 0 {
		t.Fatalf("an intact file has %d of %d intents, %v", len(want), len(refs), err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	refused, mended := 0, 0
	for range 400 {
		// A bit of the newest meta page brings back the file before its last write, whole.
		meta := 2 * os.Getpagesize()
		at, bit := meta+r.IntN(len(file)-meta), byte(1)<<r.IntN(8)
		s := spoil(at, bit)
		if s == nil {
			refused++
			continue
		}
		got := contents(t, s, refs)
		for id, in := range got {
			if !reflect.DeepEqual(in, want[id]) {
				t.Fatalf("bit %d of byte %d: intent %s is not what it was", bit, at, id)
			}
		}
		if missing := len(want) - len(got); (missing > 0) != (s.Damaged() > 0) || missing > 2 {
			t.Fatalf("bit %d of byte %d: %d intents are missing, %d are told", bit, at, missing, s.Damaged())
		}
		if s.Damaged() > 0 {
			mended++
		}
		verify(t, s)
		s.db.NoSync = true
		// The list of free pages is read when one is needed.
		if err := errors.Join(s.Stage(newIntent("web-01/w48")), s.Close()); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d of byte %d: %v", bit, at, err)
		}
	}
	t.Logf("refused %d, mended %d", refused, mended)
	if mended < 20 {
		t.Errorf("of 400 flipped bits only %d concerned a record", mended)
	}
}

// TestF21_ARecordThatIsDamagedMeanwhileConcernsItsIntentAlone: whatever call meets it takes it out, and keeps aside what it was.
func TestF21_ARecordThatIsDamagedMeanwhileConcernsItsIntentAlone(t *testing.T) {
	t.Parallel()
	for i, bucket := range [][]byte{intentsBucket, intentsBucket, bodiesBucket, bodiesBucket, dueBucket} {
		for what, meet := range map[string]func(*Store, Ref) error{
			"Get":     func(s *Store, ref Ref) error { _, err := s.Get(ref); return err },
			"Receipt": func(s *Store, ref Ref) error { _, _, err := s.Receipt(ref.Ticket, 1, "ops"); return err },
			"List":    func(s *Store, _ Ref) error { _, err := s.List("", 10); return err },
			"Due":     func(s *Store, _ Ref) error { _, _, err := s.Due(time.Now(), 10); return err },
			"Shut":    func(s *Store, ref Ref) error { return s.Shut(ref) },
			"Record": func(s *Store, ref Ref) error {
				return s.Record(Outcome{Ref: ref, Channel: "ops", Status: Sent}, time.Now(), true)
			},
		} {
			t.Run(fmt.Sprint(what, i), func(t *testing.T) {
				t.Parallel()
				s := setup(t)
				bad, good := newIntent("web-01/w48"), newIntent("web-02/w48")
				if err := errors.Join(s.Adopt(bad), s.Adopt(good)); err != nil {
					t.Fatal(err)
				}
				key := [][]byte{[]byte(bad.ID), channelKey(bad.ID, "ops"), channelKey(bad.ID, ""), channelKey(bad.ID, "ops"), dueKey(bad.At, bad.ID, "ops")}[i]
				if err := s.db.Update(func(btx *bolt.Tx) error {
					b := btx.Bucket(bucket)
					v := bytes.Clone(b.Get(key))
					v[len(v)-1] ^= 1
					return b.Put(key, v)
				}); err != nil {
					t.Fatal(err)
				}
				if err := meet(s, bad.Ref); err != nil && !errors.Is(err, ErrNotFound) {
					t.Errorf("it says %v", err)
				}
				_, err := s.Get(bad.Ref)
				if bytes.Equal(bucket, dueBucket) != (err == nil) && what != "Shut" && what != "Record" {
					t.Errorf("the intent is there: %v", err)
				}
				if got, err := s.Get(good.Ref); err != nil || got.Channels["ops"].Body == nil {
					t.Errorf("another is %+v, %v", got, err)
				}
				if err := s.Adopt(bad); err != nil {
					t.Errorf("it cannot be adopted again: %v", err)
				}
			})
		}
	}
}

// TestAFileWithoutChecksumsIsGivenThem when it is opened, and loses nothing.
func TestAFileWithoutChecksumsIsGivenThem(t *testing.T) {
	t.Parallel()
	file, _, refs := sample(t)
	path := filepath.Join(t.TempDir(), "outbox.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, id := contents(t, s, refs), s.ID()
	if err := s.db.Update(func(btx *bolt.Tx) error {
		for _, name := range append([][]byte{metaBucket}, buckets...) {
			b := btx.Bucket(name)
			for _, k := range (&tx{Tx: btx}).prefixed(name, nil, -1) {
				if v := bytes.Clone(b.Get(k)); !bytes.Equal(k, versionKey) {
					if err := b.Put(k, v[sealSize:]); err != nil {
						return err
					}
				}
			}
		}
		meta := btx.Bucket(metaBucket)
		return errors.Join(btx.DeleteBucket(asideBucket), meta.Delete(versionSumKey), meta.Put(versionKey, []byte("1")))
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{})
	if got := contents(t, s, refs); !reflect.DeepEqual(got, want) || s.ID() != id || s.Damaged() != 0 {
		t.Errorf("%d of %d intents are as they were, %d are damaged", len(got), len(want), s.Damaged())
	}
}
