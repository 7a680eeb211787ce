// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/store"
)

// record is what the journal remembers of a claim. The times are on CLOCK_BOOTTIME.
type record struct {
	ID        string        `json:"id"`
	Nonce     string        `json:"nonce"`
	Token     int64         `json:"token"`
	Asset     store.Asset   `json:"asset"`
	Task      string        `json:"task"`
	Flow      string        `json:"flow"`
	UID       uint32        `json:"uid"`
	Owner     uint32        `json:"owner,omitempty"`   // 0: UID
	Account   uint32        `json:"account,omitempty"` // 0: Owner
	Watched   bool          `json:"watched,omitempty"` // it hangs on a process
	PID       int           `json:"pid,omitempty"`     // of that; 0: it has none in this namespace, and cannot be found again
	Start     uint64        `json:"start,omitempty"`   // of the process, so that a pid used again is not taken for it
	Caller    int           `json:"caller"`
	Request   string        `json:"request,omitempty"`
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	MaxHold   time.Duration `json:"max_hold"`
	Since     time.Time     `json:"since"`
	Started   time.Duration `json:"started,omitempty"`
	Sign      time.Duration `json:"sign,omitempty"`

	Status   Status        `json:"status,omitempty"` // empty: held
	Reason   Reason        `json:"reason,omitempty"`
	Finished bool          `json:"finished,omitempty"`
	EndedAt  time.Duration `json:"ended_at,omitempty"`
	// Unanswered: it was lost, and whether a call had ended it before is not known.
	Unanswered bool `json:"unanswered,omitempty"`
}

// journal keeps this host's claims for the daemon's next start, in a file named after the boot: no claim outlives that. It is
// disposable. Nothing is fsynced, for a crash of the daemon leaves what it wrote, and after a crash of the host it is worthless.
// What a full disk does not take is written when it has room. A file that is found damaged at the start is thrown away: its claims
// run out; one that is damaged while the daemon runs is made anew. A nil journal keeps nothing.
type journal struct {
	path string
	all  func() []record // the claims of this run
	db   *bbolt.DB       // used by the writer alone; nil: it was damaged, and could not be made anew
	wake chan struct{}
	done chan struct{} // closes when the writer has ended

	mu      sync.Mutex
	changes map[string][]byte // by claim; nil: the claim ended
	stamp   time.Duration     // when the daemon was last known to run
	batch   chan struct{}     // closes when what is in changes now has been written
	closing bool
}

var (
	claimBucket = []byte("claims")
	stampKey    = []byte("running")
)

// openJournal opens the journal of this boot in a folder, removes those of others, and returns what an earlier run of the daemon
// left: its claims and when it was last known to run.
//
// all returns what is to be in it, for the case that somebody damages the file meanwhile.
func openJournal(folder string, all func() []record) (*journal, []record, time.Duration, error) {
	boot := process.BootID()
	if boot == "" {
		return nil, nil, 0, errors.New("cannot tell this boot from others: the kernel names none")
	}
	path := filepath.Join(folder, "claims-"+boot+".db")
	others, _ := filepath.Glob(filepath.Join(folder, "claims-*.db"))
	for _, other := range others {
		if other != path {
			_ = os.Remove(other)
		}
	}
	db, records, stamp, err := readJournal(path)
	if err != nil { // thrown away, once
		_ = os.Remove(path)
		if db, records, stamp, err = readJournal(path); err != nil {
			return nil, nil, 0, fmt.Errorf("cannot open the journal of claims: %w", err)
		}
	}
	j := &journal{
		path: path, all: all, db: db, wake: make(chan struct{}, 1), done: make(chan struct{}), changes: map[string][]byte{}, batch: make(chan struct{}),
	}
	go j.write()
	return j, records, stamp, nil
}

func readJournal(path string) (db *bbolt.DB, records []record, stamp time.Duration, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a broken page may point past the end of the file
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
		if err != nil && db != nil {
			_ = db.Close()
		}
	}()
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoSync: true, NoGrowSync: true, NoFreelistSync: true})
	if err != nil {
		return nil, nil, 0, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(claimBucket)
		if err != nil {
			return err
		}
		return b.ForEach(func(key, value []byte) error {
			if string(key) == string(stampKey) {
				stamp = time.Duration(binary.BigEndian.Uint64(value))
				return nil
			}
			var r record
			if err := json.Unmarshal(value, &r); err != nil {
				return err
			}
			records = append(records, r)
			return nil
		})
	})
	return db, records, stamp, err
}

// keep writes a claim. The channel closes when it is written; a failure is told nowhere, for the claim works without.
func (j *journal) keep(r record) <-chan struct{} {
	value, err := json.Marshal(r)
	if j == nil || err != nil {
		return closedChan
	}
	return j.change(r.ID, value)
}

// forget removes claims, some time soon.
func (j *journal) forget(ids ...string) {
	if j == nil {
		return
	}
	for _, id := range ids {
		j.change(id, nil)
	}
}

// running notes that the daemon runs.
func (j *journal) running(now time.Duration) {
	if j == nil {
		return
	}
	j.mu.Lock()
	due := now-j.stamp >= time.Second
	if due {
		j.stamp = now
	}
	j.mu.Unlock()
	if due {
		j.change(string(stampKey), binary.BigEndian.AppendUint64(nil, uint64(now)))
	}
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (j *journal) change(id string, value []byte) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closing {
		return closedChan
	}
	j.changes[id] = value
	select {
	case j.wake <- struct{}{}:
	default:
	}
	return j.batch
}

// write puts what has gathered while the last batch was written into the next.
func (j *journal) write() {
	defer close(j.done)
	for range j.wake {
		j.mu.Lock()
		changes, batch := j.changes, j.batch
		j.changes, j.batch = map[string][]byte{}, make(chan struct{})
		j.mu.Unlock()
		if err := j.put(changes); err != nil {
			j.again(changes)
		}
		close(batch)
	}
}

func (j *journal) put(changes map[string][]byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // somebody may have cut the file
	defer func() {
		if r := recover(); r != nil {
			j.db = nil
			err = j.replace(changes)
		}
	}()
	if j.db == nil {
		return j.replace(changes)
	}
	return j.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(claimBucket)
		for id, value := range changes {
			if value == nil {
				if err := b.Delete([]byte(id)); err != nil {
					return err
				}
			} else if err := b.Put([]byte(id), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// replace makes the file anew, with all claims and with changes. The damaged one stays open, for closing it would read it. It is tried
// again with each batch until it succeeds.
func (j *journal) replace(changes map[string][]byte) error {
	if err := os.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, _, _, err := readJournal(j.path)
	if err != nil {
		return err
	}
	j.db = db
	for _, r := range j.all() {
		value, err := json.Marshal(r)
		if _, newer := changes[r.ID]; err == nil && !newer {
			changes[r.ID] = value
		}
	}
	return j.put(changes)
}

// again puts what could not be written, as on a full disk, into the next batch. What has changed since is newer.
func (j *journal) again(changes map[string][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, value := range changes {
		if _, newer := j.changes[id]; !newer {
			j.changes[id] = value
		}
	}
}

// close writes what is left and closes the file.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	again := j.closing
	j.closing = true
	if !again {
		close(j.wake)
	}
	j.mu.Unlock()
	<-j.done
	if again || j.db == nil {
		return nil
	}
	return j.db.Close()
}
