// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/agent/again"
)

const (
	earFirst = 100 * time.Millisecond // until a server whose line failed is tried again, doubled with each failure up to
	earMost  = 5 * time.Second
	earTold  = 4 // failures in a row, after which they are logged
)

// EarConfig is what NewEar needs. The functions must not block.
type EarConfig struct {
	Host   string      // the label of this daemon
	Freed  func(Asset) // its lock was freed
	Ended  func(Asset) // a claim of this host on it was ended by another daemon
	Missed func()      // such an end may not have been heard
}

// Ear hears what is published for one daemon: that a lock was freed for which it waits, and that another daemon ended a claim of its host.
// It has a subscription for each asset that is waited for, and one for its host.
//
// All of it is a hint. What is published before a subscription is in force, or while a connection is down, is not heard. So Freed and
// Missed are called, too, whenever one has come into force, for the first time or anew: that is when to look.
type Ear struct {
	c     EarConfig
	store *Store
	wake  chan struct{} // something has changed; capacity 1
	ended chan *earLine // lines that ended

	mu      sync.Mutex
	wanted  map[string]struct{} // channels
	changed map[string]struct{} // channels that Listen has to look at

	// What Listen alone uses.
	lines map[string]*earLine  // by the server's address
	heard map[string]*earLine  // by channel
	away  map[string]time.Time // servers whose line failed, and until when they are left alone
	tries int                  // failures since a subscription came into force
	work  sync.WaitGroup
}

// NewEar listens to nothing.
func (s *Store) NewEar(c EarConfig) *Ear {
	e := &Ear{
		c: c, store: s, wake: make(chan struct{}, 1), ended: make(chan *earLine), wanted: map[string]struct{}{}, changed: map[string]struct{}{},
		lines: map[string]*earLine{}, heard: map[string]*earLine{}, away: map[string]time.Time{},
	}
	e.want(s.Keys.holder(c.Host), true)
	return e
}

// Want has the ear listen for an asset until Leave is called.
func (e *Ear) Want(a Asset) { e.want(e.store.Keys.Lock(a), true) }

// Leave undoes Want.
func (e *Ear) Leave(a Asset) { e.want(e.store.Keys.Lock(a), false) }

func (e *Ear) want(channel string, wanted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if wanted {
		e.wanted[channel] = struct{}{}
	} else {
		delete(e.wanted, channel)
	}
	e.changed[channel] = struct{}{}
	e.look()
}

// look has Listen look at what has changed.
func (e *Ear) look() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Listen listens until the context ends.
func (e *Ear) Listen(ctx context.Context) {
	defer func() {
		for _, l := range e.lines {
			_ = l.sub.Close()
		}
		e.work.Wait()
	}()
	for {
		select {
		case <-e.wake:
			e.subscribe(ctx)
		case l := <-e.ended:
			e.drop(l)
		case <-ctx.Done():
			return
		}
	}
}

// subscribe brings the subscriptions to what is wanted, but for those at servers that are left alone for now.
func (e *Ear) subscribe(ctx context.Context) {
	e.mu.Lock()
	changed := e.changed
	e.changed = map[string]struct{}{}
	e.mu.Unlock()
	for channel := range changed {
		e.mu.Lock()
		_, wanted := e.wanted[channel]
		e.mu.Unlock()
		l := e.heard[channel]
		switch {
		case wanted && l == nil && !e.open(ctx, channel):
			e.mu.Lock()
			e.changed[channel] = struct{}{}
			e.mu.Unlock()
		case !wanted && l != nil:
			delete(e.heard, channel)
			l.leave(ctx, channel)
		}
	}
}

// open subscribes to a channel at the server that publishes on it, unless that is left alone.
func (e *Ear) open(ctx context.Context, channel string) bool {
	server, addr, err := e.server(ctx, channel)
	if time.Now().Before(e.away[addr]) {
		return false
	}
	l := e.lines[addr]
	if l == nil && err == nil {
		l, err = newEarLine(ctx, e, addr, server)
	}
	if err != nil {
		e.failed(addr, err)
		return false
	}
	if e.lines[addr] == nil {
		e.lines[addr] = l
		e.work.Go(func() { l.listen(ctx) })
	}
	e.heard[channel] = l
	l.join(ctx, channel)
	return true
}

// server is the one that publishes on a channel. It has no address when it cannot be found.
func (e *Ear) server(ctx context.Context, channel string) (server *redis.Client, addr string, err error) {
	if cluster, ok := e.store.c.Redis.(*redis.ClusterClient); ok {
		server, err = cluster.MasterForKey(ctx, channel)
	} else {
		server, _ = e.store.c.Redis.(*redis.Client)
	}
	if err != nil {
		return nil, "", err
	}
	return server, server.Options().Addr, nil
}

// failed leaves a server alone for a while.
func (e *Ear) failed(addr string, why error) {
	if e.tries++; e.tries == earTold {
		e.store.c.Logger.Warn("cannot hear of locks that are freed; whoever waits finds out by looking", "error", why)
	}
	pause := again.Backoff(e.tries, earFirst, earMost)
	e.away[addr] = time.Now().Add(pause)
	time.AfterFunc(pause, e.look)
}

// drop has the channels of a line that ended subscribed to anew.
func (e *Ear) drop(l *earLine) {
	_ = l.sub.Close()
	delete(e.lines, l.addr)
	if cluster, ok := e.store.c.Redis.(*redis.ClusterClient); ok { // slots may have moved
		cluster.ReloadState(context.Background())
	}
	e.mu.Lock()
	for channel, at := range e.heard {
		if at == l {
			delete(e.heard, channel)
			e.changed[channel] = struct{}{}
		}
	}
	e.mu.Unlock()
	if l.confirmed.Load() {
		e.tries = 0
	}
	e.failed(l.addr, l.why)
}

// inForce is called when a subscription has come into force: what was published before it was not heard.
func (e *Ear) inForce(channel string) {
	if channel == e.store.Keys.holder(e.c.Host) {
		e.c.Missed()
		return
	}
	e.hear(channel, "")
}

func (e *Ear) hear(channel, payload string) {
	if channel == e.store.Keys.holder(e.c.Host) {
		if a, err := DecodeEnc(payload); err == nil {
			e.c.Ended(a)
		}
		return
	}
	if a, err := e.store.Keys.freed(channel); err == nil {
		e.c.Freed(a)
	}
}
