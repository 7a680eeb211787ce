// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lines

import (
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/picketd/picket/agent/plain"
)

// TestTheJournalGetsTheTicketsFields: and what the journal does not take is not lost.
func TestTheJournalGetsTheTicketsFields(t *testing.T) {
	t.Parallel()
	var message string
	var priority journal.Priority
	var fields map[string]string
	var away error
	var text strings.Builder
	log := slog.New(&journalHandler{
		send: func(m string, p journal.Priority, f map[string]string) error {
			message, priority, fields = m, p, f
			return away
		},
		fallback: plain.LogHandler(&text),
	}).With("asset", "web-01", "task", "w48", "token", 7)
	log.With("other", 1).Debug("not this")
	log.Warn("a step failed", "step", "vuln")
	want := map[string]string{
		"SYSLOG_IDENTIFIER": "picket-run", "PICKET_ASSET": "web-01", "PICKET_TASK": "w48", "PICKET_TOKEN": "7", "PICKET_STEP": "vuln",
	}
	if message != "a step failed step=vuln" || priority != journal.PriWarning || !maps.Equal(fields, want) || text.Len() > 0 {
		t.Errorf("%q, %d, %v, %q", message, priority, fields, &text)
	}
	away = errors.New("away")
	log.Info("recorded")
	if !strings.Contains(text.String(), `"MESSAGE":"recorded","PICKET_ASSET":"web-01","PICKET_TASK":"w48","PICKET_TOKEN":7`) {
		t.Errorf("the fallback got %q", &text)
	}
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
