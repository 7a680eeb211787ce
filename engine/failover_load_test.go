// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// fall is a failover: what connects, what cuts the replicas off first if writes are to be lost, and what has a replica take over.
type fall struct {
	connect func() redis.UniversalClient
	cut     func()
	over    func()
}

// falls are the ways to fail over, by name; those that are long run only when all kinds of Redis do.
var falls = map[string]struct {
	long     bool
	lossy    bool
	replicas int // that may take over, if there are several: each must have what is promised
	start    func(t *testing.T) fall
}{
	"sentinel planned": {start: func(t *testing.T) fall {
		set := redistest.StartStillSentinel(t)
		return fall{connect: func() redis.UniversalClient { return sentinelClient(t, set) }, over: set.Failover}
	}},
	"sentinel kill, writes lost": {lossy: true, start: sentinelKill},
	"sentinel kill":              {long: true, start: sentinelKill},
	"cluster planned": {long: true, start: func(t *testing.T) fall {
		c := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "300000")
		return fall{connect: clusterClient(t, c), over: func() { takeOver(t, c, "") }}
	}},
	"cluster kill": {long: true, start: func(t *testing.T) fall {
		return clusterKill(t, redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "300000"))
	}},
	"cluster kill, writes lost": {long: true, lossy: true, start: func(t *testing.T) fall {
		return clusterKill(t, redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "300000"))
	}},
	"cluster fails over by itself":              {long: true, start: clusterByItself},
	"cluster fails over by itself, writes lost": {long: true, lossy: true, start: clusterByItself},
	"sentinel kill, two replicas":               {long: true, replicas: 2, start: sentinelOfTwo},
	"sentinel kill, two replicas, writes lost":  {long: true, lossy: true, replicas: 2, start: sentinelOfTwo},
}

func sentinelKill(t *testing.T) fall {
	set := redistest.StartStillSentinel(t)
	return fall{
		connect: func() redis.UniversalClient { return sentinelClient(t, set) }, cut: set.Detach,
		over: func() { set.Master.Kill(); set.Replica.Thaw(); set.Failover(); set.Master.Restart() }, // which comes back as a replica
	}
}

// sentinelOfTwo has two replicas, of which the sentinel takes the one that it likes.
func sentinelOfTwo(t *testing.T) fall {
	set := redistest.StartStillSentinel(t)
	second := redistest.StartReplica(t, set.Master)
	sentinel := redis.NewSentinelClient(set.Sentinel.Options())
	t.Cleanup(func() { _ = sentinel.Close() })
	eventually(t, "the sentinel knows both", func() bool {
		known, err := sentinel.Replicas(t.Context(), set.MasterName).Result()
		return err == nil && len(known) == 2
	})
	return fall{
		connect: func() redis.UniversalClient { return sentinelClient(t, set) },
		cut: func() {
			second.Freeze()
			set.Detach()
		},
		over: func() {
			set.Master.Kill()
			set.Replica.Thaw()
			second.Thaw()
			eventually(t, "one of the replicas is the master", func() bool {
				_ = sentinel.Failover(t.Context(), set.MasterName).Err()
				addr, err := sentinel.GetMasterAddrByName(t.Context(), set.MasterName).Result()
				return err == nil && strings.Join(addr, ":") != set.Master.Addr()
			})
			set.Master.Restart()
		},
	}
}

// clusterByItself is a Cluster whose nodes notice that a master was killed, and choose its replica.
func clusterByItself(t *testing.T) fall {
	c := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "3000")
	f := clusterKill(t, c)
	f.over = func() {
		c.Servers[0].Kill()
		c.Replicas[0].Thaw()
		r := c.Replicas[0].Client()
		eventually(t, "the replica was chosen", func() bool { return strings.Contains(r.Info(t.Context(), "replication").Val(), "role:master") })
		c.Servers[0].Restart()
	}
	return f
}

func clusterClient(t *testing.T, c *redistest.Cluster) func() redis.UniversalClient {
	return func() redis.UniversalClient {
		over := client(c.Addrs()...)
		t.Cleanup(func() { _ = over.Close() })
		return over
	}
}

func clusterKill(t *testing.T, c *redistest.Cluster) fall {
	return fall{
		connect: clusterClient(t, c),
		cut: func() {
			c.Replicas[0].Freeze()
			set(t, c.Servers[0].Client(), "client", "kill", "type", "replica")
		},
		over: func() { c.Servers[0].Kill(); c.Replicas[0].Thaw(); takeOver(t, c, "TAKEOVER"); c.Servers[0].Restart() },
	}
}

// takeOver has the first master's replica take over.
func takeOver(t *testing.T, c *redistest.Cluster, how string) {
	r := c.Replicas[0].Client()
	eventually(t, "the replica is a master", func() bool {
		_ = r.Do(t.Context(), slices.DeleteFunc([]any{"cluster", "failover", how}, func(word any) bool { return word == "" })...).Err()
		return strings.Contains(r.Info(t.Context(), "replication").Val(), "role:master")
	})
}

// TestF12_F31_FailoverUnderLoad: claims, steps and notifications go on while a replica takes over. With a replica that is waited for, no
// write is accepted of a claim after a newer one was answered, and no notification that was accepted, or attempt at most once, is lost. In
// any case no token is answered twice, every claim that was lost is told, and all goes on.
func TestF12_F31_FailoverUnderLoad(t *testing.T) {
	for name, c := range falls {
		if c.long && os.Getenv(redistest.Switch) != "all" {
			continue
		}
		for _, wait := range []int{0, max(c.replicas, 1)} {
			t.Run(fmt.Sprintf("%s, %d waited for", name, wait), func(t *testing.T) {
				t.Parallel()
				underLoad(t, c.start(t), wait, c.lossy)
			})
		}
	}
}

// grantOf is a claim as it was answered, and when.
type grantOf struct {
	token int64
	at    time.Time
}

// load is what agents on several hosts saw.
type load struct {
	mu     sync.Mutex
	grants map[store.Asset][]grantOf
	writes map[store.Asset][]grantOf // accepted, and when they began
	told   map[store.TicketID]string // accepted notifications, and their intents
	sent   map[store.TicketID]*Engine
	losses int
	done   int
}

func underLoad(t *testing.T, f fall, wait int, lossy bool) {
	var hosts []*Engine
	for i := range 3 {
		over := f.connect()
		hosts = append(hosts, (&fleet{t, over, "picket"}).host(fmt.Sprintf("host-%d", i), func(c *Config) {
			short(c)
			if wait > 0 {
				waitingFor(over, c)
				c.Replicas.Number = wait
			}
		}))
	}
	l := &load{grants: map[store.Asset][]grantOf{}, writes: map[store.Asset][]grantOf{}, told: map[store.TicketID]string{}, sent: map[store.TicketID]*Engine{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var agents sync.WaitGroup
	for i := range 12 {
		agents.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.asset(t, ctx, hosts[i%len(hosts)], fmt.Sprintf("load-%d", rand.IntN(8)), fmt.Sprintf("t%d-%d", i, n))
			}
		})
	}
	eventually(t, "work is under way", func() bool { return l.finished() > 5 })
	if lossy {
		f.cut()
		time.Sleep(time.Second)
	}
	f.over()
	before := l.finished()
	eventually(t, "work goes on", func() bool { return l.finished() > before+20 })
	stop()
	agents.Wait()
	l.check(t, hosts, wait > 0)
}

func (l *load) finished() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// asset has an agent work on an asset as far as it comes.
func (l *load) asset(t *testing.T, ctx context.Context, e *Engine, asset, task string) {
	r, err := e.Claim(ctx, ask(asset, task))
	if err != nil || r.Claim == nil {
		time.Sleep(5 * time.Millisecond)
		return
	}
	k := r.Claim
	l.mu.Lock()
	l.grants[k.Ticket.Asset] = append(l.grants[k.Ticket.Asset], grantOf{k.Token, time.Now()})
	l.mu.Unlock()
	if !l.steps(t, e, k) || untilAnswered(func() error { _, err := e.Finish(context.WithoutCancel(ctx), k.ID, agent, ""); return err }) != nil {
		_ = untilAnswered(func() error { return e.Release(context.WithoutCancel(ctx), k.ID, agent) })
		return
	}
	l.mu.Lock()
	l.done++
	l.mu.Unlock()
}

// untilAnswered makes a call again while Redis is away.
func untilAnswered(do func() error) error {
	for {
		if err := do(); !errors.Is(err, store.ErrUnavailable) {
			return err
		}
	}
}

// steps goes to NOTIFYING, and sends at most once. Each call is made again while Redis is away.
func (l *load) steps(t *testing.T, e *Engine, k *Claim) bool {
	write := func(do func() error) bool {
		for {
			began := time.Now()
			err := do()
			var illegal *store.TransitionError
			var lost *LostError
			switch {
			case err == nil:
				l.mu.Lock()
				l.writes[k.Ticket.Asset] = append(l.writes[k.Ticket.Asset], grantOf{k.Token, began})
				l.mu.Unlock()
				return true
			case errors.Is(err, store.ErrUnavailable):
			case errors.Is(err, ErrStaleToken), errors.As(err, &lost):
				l.mu.Lock()
				l.losses++
				l.mu.Unlock()
				return false
			case errors.As(err, &illegal), errors.Is(err, ErrStepConflict): // the ticket fell back
				return false
			default:
				t.Errorf("%s: %v", k.Ticket, err)
				return false
			}
		}
	}
	for _, s := range []struct {
		name  string
		state store.State
	}{{"online", store.AssetOnline}, {"vuln", store.VulnCheckDone}, {"assess", store.HighRiskFound}} {
		if !write(func() error { _, err := step(t, e, k, s.name, s.state, ""); return err }) {
			return false
		}
	}
	var told WriteResult
	if !write(func() (err error) {
		told, err = e.Notify(t.Context(), k.ID, agent, delivery.Request{Title: "x", Severity: "critical", Channels: []string{"pager"}})
		return err
	}) {
		return false
	}
	l.mu.Lock()
	l.told[k.Ticket] = told.Ticket.Intent
	l.mu.Unlock()
	if a, err := e.Attempt(t.Context(), attempt(e, k.Ticket, told.Ticket.Intent, "pager", 1)); err == nil && a.Verdict == outbox.Go {
		l.mu.Lock()
		l.sent[k.Ticket] = e
		l.mu.Unlock()
		_, _ = e.Outcome(t.Context(), outcome(k.Ticket, told.Ticket.Intent, "pager", 1, outbox.Sent))
	}
	return true
}

// check holds what was seen against what was promised.
func (l *load) check(t *testing.T, hosts []*Engine, waited bool) {
	for asset, grants := range l.grants {
		seen := map[int64]bool{}
		for _, g := range grants {
			if seen[g.token] {
				t.Errorf("%s: token %d was answered twice", asset, g.token)
			}
			seen[g.token] = true
		}
		for _, w := range l.writes[asset] {
			for _, g := range grants {
				if waited && g.token > w.token && g.at.Before(w.at) {
					t.Errorf("%s: a write of token %d is accepted %s after %d was answered", asset, w.token, w.at.Sub(g.at), g.token)
				}
			}
		}
	}
	for _, e := range hosts {
		for _, k := range e.Claims(0) {
			eventually(t, "a claim without its lock is told as lost", func() bool {
				v, err := e.GetClaim(k.ID, agent)
				if err != nil || v.Status != Held {
					return true
				}
				c, err := e.claims.get(k.ID, agent)
				return err == nil && e.config.Redis.Get(t.Context(), e.store.Keys.Lock(k.Ticket.Asset)).Val() == c.nonce
			})
		}
	}
	for i := range 8 {
		eventually(t, "every asset can be claimed within the TTL", func() bool {
			r, err := hosts[0].Claim(t.Context(), waitFor(fmt.Sprintf("load-%d", i), "at the end"))
			return err == nil && untilAnswered(func() error { return hosts[0].Release(t.Context(), r.Claim.ID, agent) }) == nil
		})
	}
	if !waited {
		return
	}
	for id, intent := range l.told {
		var ticket store.Ticket
		eventually(t, "a ticket is read", func() (read bool) {
			var err error
			if ticket, err = hosts[0].Ticket(t.Context(), id); errors.Is(err, store.ErrTicketNotFound) {
				t.Fatalf("%s was accepted, and is gone", id)
			}
			return err == nil
		})
		if ticket.Intent != intent || ticket.State == store.HighRiskFound {
			t.Errorf("%s was accepted with intent %s, and is %s with %q", id, intent, ticket.State, ticket.Intent)
		}
	}
	for id, by := range l.sent {
		other := hosts[(slices.Index(hosts, by)+1)%len(hosts)]
		eventually(t, "it may not be sent again", func() bool {
			a, err := other.Attempt(t.Context(), attempt(other, id, l.told[id], "pager", 1))
			if err == nil && (a.Verdict == outbox.Go || a.Verdict == outbox.Lost) {
				t.Fatalf("%s was sent, and may be sent again: %+v", id, a)
			}
			return err == nil
		})
	}
}
