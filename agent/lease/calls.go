// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// callTimeout bounds one call. What the daemon does of one that was given up, it answers as replayed the next time.
const callTimeout = 10 * time.Second

// errSilent says that the daemon, or what runs before it in the kernel, took a call and did not answer. It may be frozen. A client
// whose patience ends first says the same.
var errSilent = fmt.Errorf("%w within %s", client.ErrNoAnswer, callTimeout)

// Call makes one call.
func Call(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSilent)
	defer cancel()
	err := call(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// Transient says whether an error of the API passes by itself: the daemon restarts or is gone for a while, or its Redis is, or the
// user has too much under way.
func Transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	if _, ok := errors.AsType[*LostError](err); ok {
		return false
	}
	p, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return true // a connection that broke, or could not be made
	}
	switch p.Code {
	case client.StoreUnavailable, client.ReplicasMissing, client.OutboxUnavailable, client.Draining, client.TooManyClaims, client.TooManyCalls, client.Internal:
		return true
	}
	return false
}

// IsLost says whether an error means that the claim is gone.
func IsLost(err error) bool {
	if _, ok := errors.AsType[*LostError](err); ok {
		return true
	}
	p, ok := errors.AsType[*client.Problem](err)
	return ok && isLostCode(p.Code)
}

// isLostCode says whether a code means that the claim is not the caller's any more.
func isLostCode(c client.Code) bool {
	return c == client.ClaimLost || c == client.ClaimNotFound || c == client.StaleToken
}

// Away names what could not be asked: the daemon, its Redis or its outbox. It is empty where an error is none of that.
func Away(err error) string {
	if !Transient(err) {
		return ""
	}
	p, answered := errors.AsType[*client.Problem](err)
	switch {
	case !answered && errors.Is(err, client.ErrNoAnswer):
		return "the daemon does not answer"
	case !answered:
		return "the daemon is away"
	case p.Code == client.StoreUnavailable:
		return "Redis is away"
	case p.Code == client.ReplicasMissing:
		return "a replica of Redis is away"
	case p.Code == client.OutboxUnavailable:
		return "the daemon's outbox is away"
	case p.Code == client.Draining:
		return "the daemon is stopping"
	}
	return ""
}

// LostError says that a claim can no longer be relied upon. It is the cause with which the work under it is cancelled.
type LostError struct {
	Reason string // empty when the deadline came first; see WhyLost

	KillAt time.Duration // on CLOCK_BOOTTIME: until then what runs under the claim must be gone
}

// Error says why.
func (e *LostError) Error() string { return fmt.Sprintf("the claim was lost (%s)", e.Reason) }

// Environment is this process' own with what a command needs to work on a claim of a ticket: the socket's path, absolute, and who
// it is.
func Environment(socket string, c client.Claim, t client.Ticket) []string {
	return append(os.Environ(),
		"PICKET_SOCKET="+socket,
		"PICKET_CLAIM="+c.ID,
		"PICKET_TOKEN="+strconv.FormatInt(c.Token, 10),
		"PICKET_ASSET="+c.Asset,
		"PICKET_TASK="+c.Task,
		"PICKET_TICKET="+t.ID,
		"PICKET_STATE="+t.State,
	)
}
