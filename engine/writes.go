// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	writesKept = 16        // what Redis loses by going back are the newest writes, so few are enough
	writesFor  = time.Hour // less than any ticket lives
)

// writes remembers the last tickets that this host wrote, by their key, so that a Redis which has gone back to an older state, as an
// RDB or a replica has it, is seen: its incarnation is the same, the tickets are older or missing.
type writes struct {
	mu   sync.Mutex
	last map[string]written
	new  bool // since they were kept
}

type written struct {
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
}

// note remembers the revision that a script answered with.
func (w *writes) note(key string, revision int64) {
	if revision == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]written{}
	}
	if w.last[key].Revision > revision { // the answer of an earlier write came later
		return
	}
	w.last[key], w.new = written{revision, time.Now()}, true
	if len(w.last) > writesKept {
		delete(w.last, slices.MinFunc(slices.Collect(maps.Keys(w.last)), func(a, b string) int { return w.last[a].At.Compare(w.last[b].At) }))
	}
}

func (w *writes) take() (last map[string]written, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.last, func(_ string, x written) bool { return time.Since(x.At) > writesFor })
	changed, w.new = w.new, false
	return maps.Clone(w.last), changed
}

func (w *writes) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.new = nil, true
}

// lookAtWrites compares what Redis has with what was written.
func (l *lookout) lookAtWrites(ctx context.Context) error {
	last, changed := l.writes.take()
	for _, key := range slices.Sorted(maps.Keys(last)) {
		has, err := l.redis.HGet(ctx, key, "revision").Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if was := last[key].Revision; has < was {
			l.writes.forget()
			l.metrics.resets.Inc()
			l.alarms.happened(AlarmStoreOlder, fmt.Sprintf("Redis went back to an older state: of %s it has revision %d, and had %d; what was written in between is lost, "+
				"writes under lost grants are refused, and accepted notifications still go out; find out why (a restart from an RDB, a power loss, a failover to a "+
				"replica that lagged, a restored backup?), and compare the tickets with what the agents did", key, has, was))
			changed = true
			break
		}
	}
	if changed {
		l.keepWrites()
	}
	return nil
}

func (e *Engine) writesFile() string { return filepath.Join(e.StateDir, "writes.json") }

// recallWrites takes up what the last run wrote: Redis on the same host restarts with it.
func (l *lookout) recallWrites() {
	if l.StateDir == "" {
		return
	}
	last := map[string]written{}
	b, err := os.ReadFile(l.writesFile())
	if err == nil {
		err = json.Unmarshal(b, &last)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("whether Redis went back while no daemon ran is not seen", "error", err)
		}
		return
	}
	maps.DeleteFunc(last, func(key string, _ written) bool { return !strings.HasPrefix(key, l.keys.prefix+":{") }) // of another prefix, before
	l.writes.mu.Lock()
	defer l.writes.mu.Unlock()
	maps.Copy(last, l.writes.last) // what was written since is newer
	l.writes.last = last
}

// keepWrites writes them for the next start, not fsynced: they are worth no more than an alarm.
func (l *lookout) keepWrites() {
	if l.StateDir == "" {
		return
	}
	last, _ := l.writes.take()
	b, err := json.Marshal(last)
	if err == nil {
		err = os.WriteFile(l.writesFile()+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(l.writesFile()+".new", l.writesFile())
	}
	if err != nil {
		l.log.Debug("cannot keep what was written last", "error", err)
	}
}
