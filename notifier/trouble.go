// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sayAgain is how often a trouble that goes on is logged.
const sayAgain = time.Minute

// trouble keeps the log readable: what strikes thousands of intents at once is said once, and again each minute.
type trouble struct {
	mu   sync.Mutex
	said map[string]time.Time // by what was said
}

func (t *trouble) due(what string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.said[what]; ok && now.Sub(at) < sayAgain {
		return false
	}
	if t.said == nil {
		t.said = map[string]time.Time{}
	}
	t.said[what] = now
	return true
}

// warn logs a trouble; what must be one of a few constant sentences.
func (n *Notifier) warn(level slog.Level, what string, attrs ...slog.Attr) {
	if n.trouble.due(what, time.Now()) {
		n.Logger.LogAttrs(context.Background(), level, what, attrs...)
	}
}
