// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// TestWorkThatHangsGivesNoSignOfLife: its claim is lost after the heartbeat, as it would be of a process that stands still.
func TestWorkThatHangsGivesNoSignOfLife(t *testing.T) {
	t.Parallel()
	var beats atomic.Int64
	cl := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		beats.Add(1)
		_, _ = w.Write([]byte("{}"))
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	l := &lease{ctx: ctx, cancel: cancel}
	l.ended.Go(func() { l.beat(cl, "c1", time.Millisecond) })
	time.Sleep(50 * time.Millisecond)
	if n := beats.Load(); n > 0 {
		t.Errorf("%d signs of life came from work that should have moved", n)
	}
	l.expect(0)
	eventually(t, "there is a sign of life again", func() bool { return beats.Load() > 0 })
	l.end()
}

// TestAQueueHoldsNobody: what is held does not hold who adds to it; what has no room is counted, and what must not be left out
// is not.
func TestAQueueHoldsNobody(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	q := NewQueue()
	w := &heldWriter{until: held}
	lines := q.Writer(w)
	for range 4 * queueRoom / 1024 {
		_, _ = lines.Write(make([]byte, 1024))
	}
	kept := 0
	for range 10 {
		q.Do(func() { kept++ })
	}
	if q.Drain(func() time.Duration { return time.Millisecond }, nil, nil) {
		t.Error("it says that all is done")
	}
	close(held)
	for !q.Drain(func() time.Duration { return time.Minute }, nil, nil) {
	}
	_, _ = lines.Write([]byte("x\n"))
	for !q.Drain(func() time.Duration { return time.Minute }, nil, nil) {
	}
	if want := "picket: 3072 lines were left out here, because nobody read them\nx\n"; kept != 10 || w.last != want {
		t.Errorf("%d were kept, and the last line is %q, want %q", kept, w.last, want)
	}
}

type heldWriter struct {
	until chan struct{}
	last  string
}

func (w *heldWriter) Write(b []byte) (int, error) {
	<-w.until
	w.last = string(b)
	return len(b), nil
}
