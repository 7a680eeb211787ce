// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/prometheus/client_golang/prometheus"
)

// recorderTo is one that brings its records to a sink, and keeps nothing beside.
func recorderTo(to sink) *Recorder {
	a := NewRecorder("run", "host-a", io.Discard, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	a.sink = to
	return a
}

func TestAJournalThatIsStoppedDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	a := recorderTo(journalSink{func(string, journal.Priority, map[string]string) error { <-released; return nil }})
	a.Start(t.TempDir())
	a.Record(Event{Kind: Finished})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.Stop(ctx); err == nil {
		t.Error("it stopped as if all were written")
	}
	close(released)
	if err := a.Stop(t.Context()); err != nil { // again, and now it can
		t.Error(err)
	}
}

func TestRecordsThatTheJournalRefusesAreToldLater(t *testing.T) {
	t.Parallel()
	out := &lines{}
	good, calls := &lineSink{out: out}, 0
	a := recorderTo(sinkFunc(func(r *Record) error {
		if calls++; calls == 2 || calls == 3 {
			return errors.New("no journal")
		}
		return errors.Join(good.send(r), good.flush())
	}))
	a.Start(t.TempDir())
	for range 4 {
		a.Record(Event{Kind: Finished})
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dropped := wantNumbered(t, out.String()); fmt.Sprint(dropped) != "[2-3]" {
		t.Errorf("told as dropped are %v\n%s", dropped, out)
	}
}

type sinkFunc func(*Record) error

func (f sinkFunc) send(r *Record) error { return f(r) }
func (f sinkFunc) flush() error         { return nil }
