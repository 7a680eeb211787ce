// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/sockapi/client"
)

// outage is what the last call met instead of an answer. It is logged when it begins and when it is over.
type outage struct {
	changed chan struct{} // holds an item when there is news; has room for one. Nobody is told when it is nil

	mu    sync.Mutex // guards what follows
	what  string     // empty while all is there
	since time.Time
}

// note takes in what came of a call.
func (o *outage) note(log *slog.Logger, err error) {
	what := lease.Away(err)
	if _, answered := errors.AsType[*client.Problem](err); err != nil && what == "" && !answered {
		return // this side gave it up
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if what == o.what {
		return
	}
	switch {
	case what == "":
		log.Info("calls are answered again", "error", o.what, "after", time.Since(o.since).Round(time.Second).String())
	case o.what == "":
		o.since = time.Now()
		log.Warn("calls are repeated", "error", err)
	}
	o.what = what
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// now says what is away, and since when.
func (o *outage) now() (what string, since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.what, o.since
}
