// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"log/slog"
	"sync"
	"time"

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
	what := Away(err)
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

// Away names what could not be asked: the daemon, its Redis or its outbox. It is empty where an error is none of that.
func Away(err error) string {
	if !transient(err) {
		return ""
	}
	p, answered := errors.AsType[*client.Problem](err)
	switch {
	case !answered && (errors.Is(err, errSilent) || errors.Is(err, client.ErrNoAnswer)):
		return "the daemon does not answer"
	case !answered:
		return "the daemon is away"
	case p.Code == client.StoreUnavailable:
		return "Redis is away"
	case p.Code == client.OutboxUnavailable:
		return "the daemon's outbox is away"
	case p.Code == client.Draining:
		return "the daemon is stopping"
	}
	return ""
}
