// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/picketd/picket/sockapi/client"
)

const (
	singles      = 100 // notifications whose way is timed, one at a time
	notifyRounds = 5
	notifyBatch  = 500 // notifications of a round
	notifiers    = 128
	arrivalLimit = time.Minute
)

var notification = client.NotificationRequest{
	Title: "2 critical findings", Text: "CVE-2021-44228 on port 8443, CVE-2022-22965 on port 8080", Severity: client.SeverityCritical,
	Facts: steps[1].Facts,
}

// receiver takes notifications.
type receiver struct {
	url     string
	server  http.Server
	arrived chan time.Time // when each did; nil: nobody wants to know
}

func newReceiver(arrived chan time.Time) *receiver {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	r := &receiver{url: "http://" + l.Addr().String() + "/hook", arrived: arrived}
	r.server.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if r.arrived != nil {
			r.arrived <- time.Now()
		}
	})
	go func() { _ = r.server.Serve(l) }()
	return r
}

func (r *receiver) channel() string {
	return fmt.Sprintf("[[channel]]\nname = \"ops\"\ntype = \"webhook\"\nurl = %q\n", r.url)
}

// await returns when the last of n arrived.
func (r *receiver) await(ctx context.Context, n int) (at time.Time) {
	limit := time.After(arrivalLimit)
	for i := range n {
		select {
		case at = <-r.arrived:
		case <-limit:
			check(fmt.Errorf("cannot go on: %d of %d notifications arrived within %s", i, n, arrivalLimit))
		case <-ctx.Done():
			check(context.Cause(ctx))
		}
	}
	return at
}

// notifications is P6.
func (h *host) notifications(ctx context.Context) []row {
	r := newReceiver(make(chan time.Time, notifyBatch))
	defer r.server.Close()
	sender, socket := h.startAnother(ctx, "sender", r.channel())
	db := must(bbolt.Open(filepath.Join(h.dir, "floor.db"), 0o600, nil))
	defer db.Close()
	rows := append(h.way(ctx, r, socket, db), sustained(ctx, r, socket, db))
	check(end(sender))
	return rows
}

// way times one notification at a time, from the call to the request at the receiver.
func (h *host) way(ctx context.Context, r *receiver, socket string, db *bbolt.DB) []row {
	c := client.New(socket)
	defer c.CloseIdleConnections()
	store := redis.NewClient(redisOptions(h.redisAddr))
	defer store.Close()
	write := writer(db.Update)
	var took, after, floors []time.Duration
	for range singles {
		id := must(risky(ctx, c, newAsset()))
		start := time.Now()
		must(c.Notify(ctx, id, notification, 0))
		accepted := time.Now()
		at := r.await(ctx, 1)
		took, after = append(took, at.Sub(start)), append(after, at.Sub(accepted))
		must(c.Finish(ctx, id, ""))
		check(timed(&floors, 1, func() error {
			for range 3 {
				check(store.Ping(ctx).Err())
			}
			return write()
		}))
	}
	picket, floor := median(took), median(floors)
	return []row{{
		"P6", "call that notifies → request at the receiver; floor: one fsync and three round trips to Redis",
		milliseconds(picket), milliseconds(floor), times(picket.Seconds() / floor.Seconds()), "≤ + 1 ms", picket <= floor+time.Millisecond,
	}, {figure: "of which: from the 202 on", picket: milliseconds(median(after))}}
}

// sustained compares how many notifications a second go all the way with how many small writes a second bbolt makes durable for
// as many callers.
func sustained(ctx context.Context, r *receiver, socket string, db *bbolt.DB) row {
	crew, batch := make([]*client.Client, notifiers), make([]func() error, notifiers)
	for i := range crew {
		crew[i], batch[i] = client.New(socket), writer(db.Batch)
		defer crew[i].CloseIdleConnections()
	}
	c := alternate(notifyRounds,
		func() float64 { return notifyMany(ctx, r, crew) }, func() float64 { return must(rate(ctx, roundTime, batch)) })
	return c.row("P6", strconv.Itoa(notifiers)+" agents notify, sustained to the receiver; floor: bbolt's Batch, once each", 0.5)
}

// notifyMany is the rate from the first call to the last arrival.
func notifyMany(ctx context.Context, r *receiver, crew []*client.Client) float64 {
	claims := make([]string, notifyBatch)
	each := func(do func(c *client.Client, i int) error) {
		var next atomic.Int64
		work := make([]func() error, len(crew))
		for n, c := range crew {
			work[n] = func() error {
				for i := int(next.Add(1)) - 1; i < notifyBatch; i = int(next.Add(1)) - 1 {
					if err := do(c, i); err != nil {
						return err
					}
				}
				return nil
			}
		}
		check(together(work))
	}
	each(func(c *client.Client, i int) (err error) {
		claims[i], err = risky(ctx, c, newAsset())
		return err
	})
	start := time.Now()
	each(func(c *client.Client, i int) error {
		_, err := c.Notify(ctx, claims[i], notification, 0)
		return err
	})
	last := r.await(ctx, notifyBatch)
	each(func(c *client.Client, i int) error {
		_, err := c.Finish(ctx, claims[i], "") // so that no claims are renewed in the next round
		return err
	})
	return notifyBatch / last.Sub(start).Seconds()
}

// writer writes something as large as an intent, to a new key each time.
func writer(in func(func(*bbolt.Tx) error) error) func() error {
	value := bytes.Repeat([]byte("x"), 1024)
	return func() error {
		return in(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("intents"))
			if err != nil {
				return err
			}
			return b.Put([]byte(newAsset()), value)
		})
	}
}
