// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// earQuiet is after how much silence a server is asked whether it is there. Silence for as long again ends the line.
const earQuiet = 10 * time.Second

var errMoved = errors.New("it does not publish on that channel any more")

// earLine is a connection for subscriptions to one server.
type earLine struct {
	ear       *Ear
	addr      string
	sub       *redis.PubSub
	sharded   bool        // the server publishes on a lock's channel in its shard
	confirmed atomic.Bool // a subscription came into force
	why       error       // it ended, when it did

	mu      sync.Mutex
	leaving map[string]int // unsubscriptions that are not confirmed, by channel
}

// asksSharded asks a server what its scripts go by (lua/common.lua): 0 where it has no channels in shards (before Redis 7), or lets nobody
// publish there. What else it may say, such as that a shard is another's, is not about that.
const asksSharded = `local told = redis.REDIS_VERSION_NUM and redis.pcall('SPUBLISH', ARGV[1], '')
return (type(told) == 'number' or type(told) == 'table' and not string.find(told.err, 'NOPERM') and not string.find(told.err, "can't run")
  and not string.find(told.err, 'Unknown')) and 1 or 0`

// newEarLine asks the server on which kind of channel it publishes, too.
func newEarLine(ctx context.Context, e *Ear, addr string, server *redis.Client) (*earLine, error) {
	sharded, err := server.Eval(ctx, asksSharded, nil, e.store.Keys.Assets()+"}:lock").Int()
	if err != nil {
		return nil, err
	}
	return &earLine{ear: e, addr: addr, sub: server.Subscribe(ctx), sharded: sharded == 1, leaving: map[string]int{}}, nil
}

// join and leave need not tell an error: the line ends by it.
func (l *earLine) join(ctx context.Context, channel string) {
	if l.inShard(channel) {
		_ = l.sub.SSubscribe(ctx, channel)
	} else {
		_ = l.sub.Subscribe(ctx, channel)
	}
}

func (l *earLine) leave(ctx context.Context, channel string) {
	l.mu.Lock()
	l.leaving[channel]++
	l.mu.Unlock()
	if l.inShard(channel) {
		_ = l.sub.SUnsubscribe(ctx, channel)
	} else {
		_ = l.sub.Unsubscribe(ctx, channel)
	}
}

// inShard: what is for a holder is not, because the asset's script publishes it, whose shard is another.
func (l *earLine) inShard(channel string) bool {
	return l.sharded && channel != l.ear.store.Keys.holder(l.ear.c.Host)
}

// listen hears until the line ends.
func (l *earLine) listen(ctx context.Context) {
	for asked := false; ; {
		m, err := l.sub.ReceiveTimeout(ctx, earQuiet)
		var silence net.Error
		if errors.As(err, &silence) && silence.Timeout() && !asked {
			asked, err = true, l.sub.Ping(ctx)
		} else {
			asked = false
		}
		if err == nil {
			err = l.heard(m)
		}
		if err != nil {
			l.why = fmt.Errorf("cannot listen to %s: %w", l.addr, err)
			select {
			case l.ear.ended <- l:
			case <-ctx.Done():
			}
			return
		}
	}
}

func (l *earLine) heard(m any) error {
	switch m := m.(type) {
	case *redis.Message:
		l.ear.hear(m.Channel, m.Payload)
	case *redis.Subscription:
		switch m.Kind {
		case "subscribe", "ssubscribe":
			l.confirmed.Store(true)
			l.ear.inForce(m.Channel)
		default:
			return l.left(m.Channel)
		}
	}
	return nil
}

// left notes an unsubscription, which a server confirms, and makes by itself when a slot moves to another.
func (l *earLine) left(channel string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaving[channel] == 0 {
		return errMoved
	}
	if l.leaving[channel]--; l.leaving[channel] == 0 {
		delete(l.leaving, channel)
	}
	return nil
}
