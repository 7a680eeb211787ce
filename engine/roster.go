// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/engine/store"
)

// An ended claim can be asked about for this long, and of one account so many: a user who ends many forgets its own first, and nobody
// else's. Fewer outlive the daemon: a call whose answer a crash took was under way then, and so ended one of the last.
const (
	rememberFor  = 10 * time.Minute
	rememberMost = 20_000
	journalMost  = 4096
)

// roster knows the claims of this daemon: those that are held, and for a while those that ended.
type roster struct {
	gauge prometheus.Gauge // of those that are held

	mu      sync.Mutex
	byID    map[string]*claim        // held
	byAsset map[store.Asset][]*claim // held: with one lock an asset none or one, but for a moment
	perUID  map[uint32]int           // held, and being claimed
	ended   map[string]*ended        // by id
	past    map[uint32][]*ended      // the same by account, oldest first
	awaited map[string]struct{}      // claims of an earlier run that are not decided about
	resent  map[askedBy]struct{}     // the requests of those that were held
}

// askedBy is what is the same in a request for a claim that is sent again, beside the process.
type askedBy struct {
	owner   uint32
	ticket  store.TicketID
	request string
}

func (c *claim) askedBy() askedBy { return askedBy{c.owner, c.ticket, c.request} }

func newRoster(gauge prometheus.Gauge) *roster {
	return &roster{
		gauge: gauge, byID: map[string]*claim{}, byAsset: map[store.Asset][]*claim{}, perUID: map[uint32]int{},
		ended: map[string]*ended{}, past: map[uint32][]*ended{},
	}
}

// reserve counts a claim that is about to be made. Who gets true calls add or unreserve.
func (r *roster) reserve(uid uint32, most int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.perUID[uid] >= most {
		return false
	}
	r.perUID[uid]++
	return true
}

func (r *roster) unreserve(uid uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(uid)
}

func (r *roster) dropLocked(uid uint32) {
	if r.perUID[uid]--; r.perUID[uid] == 0 {
		delete(r.perUID, uid)
	}
}

// most is how many claims the user has that has the most.
func (r *roster) most() (most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.perUID {
		most = max(most, n)
	}
	return most
}

// await notes the claims of an earlier run until they are added.
func (r *roster) await(records []record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited, r.resent = make(map[string]struct{}, len(records)), map[askedBy]struct{}{}
	for _, rec := range records {
		r.awaited[rec.ID] = struct{}{}
		if rec.Status == "" && rec.Request != "" {
			r.resent[askedBy{cmp.Or(rec.Owner, rec.UID), store.ID(rec.Asset, rec.Task), rec.Request}] = struct{}{}
		}
	}
}

// awaiting is how many claims of an earlier run are not decided about.
func (r *roster) awaiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.awaited)
}

func (r *roster) add(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.awaited, c.id)
	delete(r.resent, c.askedBy())
	r.byID[c.id] = c
	r.byAsset[c.ticket.Asset] = append(r.byAsset[c.ticket.Asset], c)
	r.gauge.Inc()
}

// end keeps a claim that is no longer held among those that are remembered, and returns those that the journal is to forget.
func (r *roster) end(c *claim, now time.Duration) (forgotten []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(c.account)
	left := slices.DeleteFunc(r.byAsset[c.ticket.Asset], func(other *claim) bool { return other == c })
	if r.byAsset[c.ticket.Asset] = left; len(left) == 0 {
		delete(r.byAsset, c.ticket.Asset)
	}
	r.gauge.Dec()
	return r.rememberLocked(c, now)
}

func (r *roster) rememberLocked(c *claim, now time.Duration) (forgotten []string) {
	x := newEnded(c, now)
	delete(r.byID, c.id)
	r.ended[c.id] = x
	past := append(r.past[c.account], x)
	r.past[c.account] = past
	if older := len(past) - 1 - journalMost; older >= 0 && past[older].claim == nil {
		forgotten = append(forgotten, past[older].id)
	}
	return append(forgotten, r.forgetLocked(now)...)
}

// forget forgets what was remembered for long enough, and returns it.
func (r *roster) forget(now time.Duration) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forgetLocked(now)
}

func (r *roster) forgetLocked(now time.Duration) (forgotten []string) {
	for account, past := range r.past {
		n := 0
		for n < len(past) && (len(past)-n > rememberMost || now-past[n].at > rememberFor) {
			forgotten = append(forgotten, past[n].id)
			delete(r.ended, past[n].id)
			past[n] = nil
			n++
		}
		if r.past[account] = past[n:]; n == len(past) {
			delete(r.past, account)
		}
	}
	return forgotten
}

// recall remembers a claim that ended in an earlier run.
func (r *roster) recall(c *claim, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.awaited, c.id)
	r.rememberLocked(c, at)
}

// resolved is for an ended claim of which it is known now what became of its end.
func (r *roster) resolved(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.ended[c.id]; x != nil {
		*x = *newEnded(c, x.at)
	}
}

// errAwaited is what is answered about a claim of an earlier run that is not decided about.
var errAwaited = &store.UnavailableError{Why: "the claim is of the daemon's earlier run, and is taken up when Redis answers"}

// get finds a claim that a Peer.Owner may use: its own, or anyone's for root.
func (r *roster) get(id string, uid uint32) (*claim, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, awaited := r.awaited[id]; awaited {
		return nil, errAwaited
	}
	c := r.byID[id]
	if x := r.ended[id]; x != nil {
		c = x.revive()
	}
	if c == nil {
		return nil, fmt.Errorf("%w: this daemon has none with that id, or it ended more than %s ago", ErrClaimNotFound, rememberFor)
	}
	if uid != 0 && uid != c.owner {
		return nil, fmt.Errorf("%w: the claim is another user's", ErrForbidden)
	}
	return c, nil
}

// asked finds the held claim that an earlier copy of a request was granted, or nil. The process is the same, or there is none.
func (r *roster) asked(c *claim) (*claim, error) {
	if c.request == "" {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, awaited := r.resent[c.askedBy()]; awaited {
		return nil, errAwaited
	}
	for _, other := range r.byAsset[c.ticket.Asset] {
		if other.askedBy() == c.askedBy() && sameProcess(other.process, c.process) {
			return other, nil
		}
	}
	return nil, nil
}

// held lists the held claims of uid, or all for root, oldest first.
func (r *roster) held(uid uint32) []*claim {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*claim
	for _, held := range r.byAsset {
		for _, c := range held {
			if uid == 0 || c.owner == uid {
				list = append(list, c)
			}
		}
	}
	slices.SortFunc(list, func(a, b *claim) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.token, b.token))
	})
	return list
}

// of lists the held claims on an asset.
func (r *roster) of(a store.Asset) []*claim {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.byAsset[a])
}
