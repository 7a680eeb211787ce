// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/journal"
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
		fallback: slog.NewJSONHandler(&text, nil),
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
