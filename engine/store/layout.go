// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Layout is the number of what this version writes in Redis (docs/schema.md). It grows when a key or a field gets another form or meaning.
const Layout = "4"

// LayoutError says that what stands in Redis has another layout. It is an ErrUnavailable.
type LayoutError struct {
	Key   string // where it says so
	Found string // empty: without a number, as before layouts had one
}

func (e *LayoutError) Error() string {
	found := "layout " + e.Found
	if e.Found == "" {
		found = "a layout without a number"
	}
	return fmt.Sprintf("%v: what stands there has %s (%s), and this version writes layout %s, so it touches nothing: start the version that wrote it, or "+
		"set another redis.prefix, or let that version finish its work, stop it on every host, and flush the data", ErrUnavailable, found, e.Key, Layout)
}

// Is makes it an ErrUnavailable.
func (e *LayoutError) Is(target error) bool { return target == ErrUnavailable }

// errUnread is the answer while it is not known which layout stands in Redis.
var errUnread = &UnavailableError{Why: "no answer: it is not known yet whether its data are of this version", Silent: true}

// BarUnread bars until it is known what stands in Redis.
func (s *Store) BarUnread() { s.Bar(errUnread) }

// Bar keeps every command from Redis that names a key of the store, but those of incarnations: it is answered with why. Nil ends that.
func (s *Store) Bar(why error) {
	s.bar.why.Store(&why)
	if why == nil {
		return
	}
	s.barred.Do(func() {
		clients := []redis.UniversalClient{s.c.Redis, s.c.Urgent, s.c.Replicas.Redis}
		for i, c := range clients {
			if c != nil && !slices.Contains(clients[:i], c) {
				c.AddHook(&s.bar)
			}
		}
	})
}

// bar is before all commands of a client, those of other packages too.
type bar struct {
	keys Keys
	why  atomic.Pointer[error]
}

// against is why a command may not go to Redis, or nil.
func (b *bar) against(cmd redis.Cmder) error {
	why := *b.why.Load()
	if why == nil {
		return nil
	}
	for _, arg := range cmd.Args() {
		if s, ok := arg.(string); ok && strings.HasPrefix(s, b.keys.prefix+":") && !strings.HasPrefix(s, b.keys.Incarnations()) {
			return why
		}
	}
	return nil
}

func (b *bar) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *bar) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := b.against(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (b *bar) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := b.against(cmd); err != nil {
				for _, cmd := range cmds {
					cmd.SetErr(err)
				}
				return err
			}
		}
		return next(ctx, cmds)
	}
}
