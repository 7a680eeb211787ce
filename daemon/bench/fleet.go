// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

const (
	releaseWaiters = 2                      // daemons that wait for the asset that is released
	waitersSleep   = time.Second            // until they wait
	strayTime      = 500 * time.Millisecond // for messages to those that do not wait
)

// fleet is many daemons in this process, as far as Redis can tell: each has an engine at its own pace, an outbox, a journal, and
// connections of its own.
type fleet struct {
	members  []*member
	messages atomic.Int64 // of pub/sub, that came to any of them
}

type member struct {
	*engine.Engine
	box   *outbox.Store
	redis []*redis.Client
}

// grow adds daemons until there are so many.
func (f *fleet) grow(h *host, size int) {
	for i := len(f.members); i < size; i++ {
		name := fmt.Sprintf("host-%04d", i)
		dir := filepath.Join(h.dir, name)
		check(os.Mkdir(dir, 0o700))
		m := &member{
			box:   must(outbox.Open(filepath.Join(dir, "outbox.db"), outbox.Options{MaxSize: 256 << 20})),
			redis: []*redis.Client{f.client(h.redisAddr), f.client(h.redisAddr)},
		}
		m.Engine = must(engine.New(engine.Config{
			Redis: m.redis[0], Urgent: m.redis[1], Outbox: m.box, StateDir: dir, Host: name, Logger: slog.New(slog.DiscardHandler),
			Render: func(string, delivery.Message) ([]byte, error) { return nil, nil },
		}))
		m.Start()
		m.Serving()
		f.members = append(f.members, m)
	}
}

// client is a daemon's, but for its patience: a thousand begin at once.
func (f *fleet) client(addr string) *redis.Client {
	o := redisOptions(addr)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 10*time.Second, 10*time.Second, 10*time.Second
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return heard{c, &f.messages}, err
	}
	return redis.NewClient(o)
}

// heard counts the messages of pub/sub that come over a connection.
type heard struct {
	net.Conn
	messages *atomic.Int64
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.messages.Add(int64(bytes.Count(p[:n], []byte("message\r\n")))) // and smessage
	return n, err
}

// stop ends all at once.
func (f *fleet) stop() {
	work := make([]func() error, len(f.members))
	for i, m := range f.members {
		work[i] = func() error {
			ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
			defer cancel()
			_ = m.Stop(ctx)
			for _, c := range m.redis {
				_ = c.Close()
			}
			return m.box.Close()
		}
	}
	_ = together(work)
}

func (m *member) claim(ctx context.Context, asset, task string, wait time.Duration) (string, error) {
	r, err := m.Claim(ctx, engine.ClaimRequest{Asset: store.Asset(asset), Task: task, Heartbeat: time.Hour, Wait: wait})
	if err != nil {
		return "", err
	}
	return r.Claim.ID, nil
}

// release is to how many daemons a release is told for which releaseWaiters of them wait.
func (f *fleet) release(ctx context.Context) (deliveries float64) {
	asset, holder := newAsset(), f.members[0]
	id := must(holder.claim(ctx, asset, task, 0))
	got := make(chan func() error, releaseWaiters) // releases what a waiter was granted
	for _, m := range f.members[1 : 1+releaseWaiters] {
		go func() {
			id, err := m.claim(ctx, asset, task, arrivalLimit)
			got <- func() error {
				if err != nil {
					return err
				}
				return m.Release(ctx, id, 0)
			}
		}()
	}
	pause(ctx, waitersSleep)
	before := f.messages.Load()
	check(holder.Release(ctx, id, 0))
	next := <-got
	pause(ctx, strayTime)
	deliveries = float64(f.messages.Load() - before)
	check(next())
	check((<-got)())
	return deliveries
}
