// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// share runs b.N calls of fn in callers goroutines.
func share(b *testing.B, callers int, fn func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := range next {
				fn(i)
			}
		})
	}
	b.ResetTimer()
	for i := range b.N {
		next <- i
	}
	close(next)
	wg.Wait()
	b.StopTimer()
}

// BenchmarkWrite has the outbox's writes beside the same bytes put into one bucket by bbolt itself: Update is one fsync a
// write, Batch is bbolt's own way to share one.
func BenchmarkWrite(b *testing.B) {
	in := newIntent("web-01/w48")
	raw, err := json.Marshal(head{Intent: in})
	if err != nil {
		b.Fatal(err)
	}
	raw = append(append(raw, in.Content...), in.Channels["ops"].Body...)
	for _, callers := range []int{1, 64} {
		bbolt := func(write func(*bolt.DB, func(*bolt.Tx) error) error) func(*testing.B) {
			return func(b *testing.B) {
				db, err := bolt.Open(filepath.Join(b.TempDir(), "raw.db"), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				share(b, callers, func(int) {
					id := []byte(rand.Text())
					if err := write(db, func(btx *bolt.Tx) error {
						bucket, err := btx.CreateBucketIfNotExists([]byte("raw"))
						if err != nil {
							return err
						}
						return bucket.Put(id, raw)
					}); err != nil {
						b.Error(err)
					}
				})
			}
		}
		b.Run(fmt.Sprintf("bbolt-Update/callers=%d", callers), bbolt((*bolt.DB).Update))
		b.Run(fmt.Sprintf("bbolt-Batch/callers=%d", callers), bbolt((*bolt.DB).Batch))
		b.Run(fmt.Sprintf("Stage/callers=%d", callers), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "outbox.db"), Options{MaxSize: 8 << 30})
			share(b, callers, func(int) {
				if err := s.Stage(newIntent("web-01/w48")); err != nil {
					b.Error(err)
				}
			})
		})
		b.Run(fmt.Sprintf("Record/callers=%d", callers), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "outbox.db"), Options{})
			ready := make([]Intent, 1000)
			for i := range ready {
				ready[i] = newIntent(fmt.Sprintf("host-%d/w48", i))
			}
			fill(b, s, ready)
			share(b, callers, func(i int) {
				o := Outcome{Ref: ready[i%len(ready)].Ref, Channel: "ops", Number: 1, Status: Pending, At: time.Now(), Error: "503"}
				if err := s.Record(o, time.Now().Add(time.Minute), false); err != nil {
					b.Error(err)
				}
			})
		})
		// All that the outbox writes for one notification.
		b.Run(fmt.Sprintf("Notification/callers=%d", callers), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "outbox.db"), Options{MaxSize: 8 << 30})
			share(b, callers, func(i int) {
				in := newIntent(fmt.Sprintf("host-%d/w48", i))
				o := Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: time.Now()}
				for _, err := range []error{
					s.Stage(in),
					s.Commit(in.Ref),
					s.Record(o, time.Now(), false),
					s.Recorded(in.Ref, "ops"),
					s.Shut(in.Ref),
				} {
					if err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// fill adopts intents, many in one transaction.
func fill(tb testing.TB, s *Store, all []Intent) {
	tb.Helper()
	var wg sync.WaitGroup
	each := max(1, len(all)/1000)
	for i := 0; i < len(all); i += each {
		wg.Go(func() {
			for _, in := range all[i:min(i+each, len(all))] {
				if err := s.Adopt(in); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkOpen opens an outbox with 100,000 ready intents and asks for what is due, beside bbolt opening the same file.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "outbox.db")
	s := open(b, path, Options{MaxSize: 8 << 30})
	all := make([]Intent, 100_000)
	for i := range all {
		all[i] = newIntent(fmt.Sprintf("host-%d/w48", i))
	}
	fill(b, s, all)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("bbolt", func(b *testing.B) {
		for b.Loop() {
			db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
			if err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
	b.Run("Open+Due", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			due, _, err := s.Due(time.Now(), 100)
			if err != nil || len(due) != 100 || s.Stats().Ready != len(all) {
				b.Fatalf("%d are due of %d, %v", len(due), s.Stats().Ready, err)
			}
			s.Close()
		}
	})
	b.Run("Due", func(b *testing.B) {
		s := open(b, path, Options{})
		for b.Loop() {
			if due, _, err := s.Due(time.Now(), 100); err != nil || len(due) != 100 {
				b.Fatalf("%d are due, %v", len(due), err)
			}
		}
	})
}
