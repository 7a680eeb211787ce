// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picketd/picket/engine/process"
)

// The bounds of heartbeat and max_hold in a request.
const (
	heartbeatMin = time.Second
	heartbeatMax = 24 * time.Hour
	maxHoldMin   = time.Second
)

// liveness decides what a claim's life hangs on, and opens the process. The caller closes it.
//
// Neither pid nor heartbeat: the connecting process. A heartbeat alone: no process. A pid: that process, of the same user.
func (e *Engine) liveness(r *ClaimRequest) (*process.Process, error) {
	if r.Heartbeat != 0 && (r.Heartbeat < heartbeatMin || r.Heartbeat > heartbeatMax) {
		return nil, &InvalidError{"heartbeat", fmt.Sprintf("must be from %s to %s", span(heartbeatMin), span(heartbeatMax))}
	}
	if r.MaxHold == 0 {
		r.MaxHold = e.config.MaxHold
	} else if r.MaxHold < maxHoldMin || r.MaxHold > e.config.MaxHoldLimit {
		return nil, &InvalidError{"max_hold", fmt.Sprintf("must be from %s to %s", span(maxHoldMin), span(e.config.MaxHoldLimit))}
	}
	switch {
	case r.PID != 0 && r.Peer.Foreign:
		return nil, &InvalidError{"pid", "means nothing from a process that cannot be shown to be of this host's namespaces: leave it out, or give a heartbeat"}
	case r.PID != 0:
		p, err := process.Open(r.PID)
		switch {
		case errors.Is(err, process.ErrNone):
			return nil, &InvalidError{"pid", "there is no such process: name one that lives"}
		case err != nil:
			return nil, fmt.Errorf("cannot watch the process: %w", err)
		}
		if r.Peer.UID != 0 && p.UID() != r.Peer.UID {
			p.Close()
			return nil, fmt.Errorf("%w: the process is another user's", ErrForbidden)
		}
		return p, nil
	case r.Heartbeat != 0:
		return nil, nil
	case r.Peer.Process == nil:
		return nil, &InvalidError{"heartbeat", "is needed here: the connecting process cannot be watched"}
	}
	return r.Peer.Process.Retain(), nil
}

// span is a duration without units that are zero: 24h, not 24h0m0s.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
