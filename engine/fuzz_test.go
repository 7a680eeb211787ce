// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// FuzzClaimsFile: whatever stands in the journal of claims, in its pages or in a claim, it is read or refused as damaged.
func FuzzClaimsFile(f *testing.F) {
	dir := f.TempDir()
	sound := filepath.Join(dir, "sound.db")
	db, _, _, err := readJournal(sound)
	if err != nil {
		f.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(claimBucket).Put([]byte("A"), []byte(`{"id":"A","asset":"a","task":"t"}`))
	}); err != nil {
		f.Fatal(err)
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(sound)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint(0), []byte{}, "A", []byte(`{"id":"A","nonce":"n","token":7,"asset":"a","task":"t","uid":1,"watched":true,"pid":1,"since":"2026-12-01T06:00:00Z","status":"lost"}`))
	f.Add(uint(4096), []byte{2, 0, 0, 0}, string(stampKey), []byte("short"))
	f.Add(uint(len(whole)), []byte{}, "B", []byte("{"))
	f.Fuzz(func(t *testing.T, at uint, spoilt []byte, key string, value []byte) {
		path := filepath.Join(dir, "claims.db")
		b := append([]byte{}, whole...)
		copy(b[at%uint(len(b)):], spoilt)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if len(spoilt) == 0 {
			if db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true, Timeout: time.Second}); err == nil {
				_ = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(claimBucket).Put([]byte(key), value) }) // a key may be none
				_ = db.Close()
			}
		}
		db, _, _, err := readJournal(path)
		if err != nil { // it is thrown away, and made anew
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if db, _, _, err = readJournal(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
