// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// permission is a rule of Redis' ACL that the daemon's user needs, and a call that Redis refuses without it. Redis asks its ACL before
// all else, so what else is wrong with the call is of no interest.
type permission struct {
	rule string
	call []any
}

// probe is a key below the prefix, and a channel. Nothing is kept there, and nobody listens.
const probe = "probe"

// permissions are what packaging/redis.acl has, but for the subscriptions, which need a connection of their own. Most calls that write
// fail for a wrong value; what the others write, the last one takes away.
func permissions(mode, key string) []permission {
	all := []permission{
		{"+config|get", []any{"config", "get", "maxmemory-policy"}},
		{"+eval", []any{"eval", "return 1", 0}},
		{"+evalsha", []any{"evalsha", strings.Repeat("0", 40), 0}},
		{"+exec", []any{"exec"}},
		{"+exists", []any{"exists", key}},
		{"+get", []any{"get", key}},
		{"+rpush", []any{"rpush", key, "x"}}, // on a list, what is for a hash or a set fails
		{"+pexpire", []any{"pexpire", key, time.Minute.Milliseconds()}},
		{"+expire", []any{"expire", key, 60}},
		{"+hdel", []any{"hdel", key, "x"}},
		{"+hget", []any{"hget", key, "x"}},
		{"+hgetall", []any{"hgetall", key}},
		{"+hincrby", []any{"hincrby", key, "x", "no number"}},
		{"+hkeys", []any{"hkeys", key}},
		{"+hlen", []any{"hlen", key}},
		{"+hmget", []any{"hmget", key, "x"}},
		{"+hset", []any{"hset", key, "x", "x", "no value"}},
		{"+hsetnx", []any{"hsetnx", key, "x", "x"}},
		{"+hvals", []any{"hvals", key}},
		{"+info", []any{"info", "server"}},
		{"+lindex", []any{"lindex", key, 0}},
		{"+llen", []any{"llen", key}},
		{"+lrange", []any{"lrange", key, 0, 0}},
		{"+lset", []any{"lset", key, 0, "x"}},
		{"+ltrim", []any{"ltrim", key, 0, 0}},
		{"+persist", []any{"persist", key + ":none"}},
		{"+ping", []any{"ping"}},
		{"+pttl", []any{"pttl", key}},
		{"+scan", []any{"scan", 0, "count", 1}},
		{"+set", []any{"set", key, "x", "no option"}},
		{"+time", []any{"time"}},
		{"+type", []any{"type", key}},
		{"+wait", []any{"wait", 0, 1}},
		{"+zadd", []any{"zadd", key, "no number", "x"}},
		{"+zcard", []any{"zcard", key}},
		{"+zcount", []any{"zcount", key, 0, 0}},
		{"+zrange", []any{"zrange", key, 0, 0}},
		{"+zrangebyscore", []any{"zrangebyscore", key, 0, 0}},
		{"+zrem", []any{"zrem", key, "x"}},
		{"+zremrangebyrank", []any{"zremrangebyrank", key, 0, 0}},
		{"+zremrangebyscore", []any{"zremrangebyscore", key, 0, 0}},
		{"+zrevrange", []any{"zrevrange", key, 0, 0}},
		{"+zrevrangebyscore", []any{"zrevrangebyscore", key, 0, 0}},
		{"+zscore", []any{"zscore", key, "x"}},
		{"+publish", []any{"publish", key, ""}},
		{"+spublish", []any{"spublish", key, ""}},
		{"+del", []any{"del", key}},
	}
	if mode == Cluster {
		all = append(all, permission{"+asking", []any{"asking"}})
		for _, of := range []string{"info", "nodes", "slots"} {
			all = append(all, permission{"+cluster|" + of, []any{"cluster", of}})
		}
	}
	return append(all, permission{"+multi", []any{"multi"}}) // what comes after it would only be queued
}

// optional is what a daemon can do without, and what is then missing.
var optional = map[string]string{
	"+config|get":    "nobody looks whether Redis writes to disk, and waits for replicas",
	"+cluster|info":  "nobody looks at the state of the Cluster",
	"+cluster|nodes": "nobody sees a slot whose move was broken off",
}

// checkPermissions asks each master what its ACL denies this user. The error is an errPermission, or no answer.
func (r RedisConfig) checkPermissions(ctx context.Context, rdb redis.UniversalClient) (warnings []string, err error) {
	said, err := eachMaster(ctx, rdb, func(ctx context.Context, c *redis.Client) (string, error) {
		denied, err := deniedBy(ctx, c, r.Mode, r.Prefix+":")
		return strings.Join(denied, " "), err
	})
	switch {
	case r.Mode == Cluster && forbidden(err): // without it nobody knows the masters
		return nil, fmt.Errorf("%w %s +cluster|slots", errPermission, r.user())
	case err != nil:
		return nil, err
	}
	denied := slices.Sorted(slices.Values(strings.Fields(strings.Join(said, " "))))
	denied = slices.DeleteFunc(slices.Compact(denied), func(rule string) bool {
		if without := optional[rule]; without != "" {
			warnings = append(warnings, fmt.Sprintf("the ACL of Redis denies the user %s %s: %s", r.user(), rule, without))
			return true
		}
		return false
	})
	if len(denied) > 0 {
		return warnings, fmt.Errorf("%w %s %s", errPermission, r.user(), strings.Join(denied, " "))
	}
	return warnings, nil
}

// errPermission: what the daemon does will fail, some of it or all.
var errPermission = errors.New("the ACL of Redis denies the user")

func (r RedisConfig) user() string { return cmp.Or(r.Username, "default") }

// deniedBy are the rules that a server's ACL lacks. Errors: the network's.
func deniedBy(ctx context.Context, c *redis.Client, mode, prefix string) (denied []string, err error) {
	needed := permissions(mode, prefix+probe)
	c = redis.NewClient(c.Options()) // its connection ends in a transaction
	defer c.Close()
	pipe := c.Pipeline()
	calls := make([]*redis.Cmd, len(needed))
	for i, p := range needed {
		calls[i] = pipe.Do(ctx, p.call...)
	}
	_, _ = pipe.Exec(ctx) // each call has its own error
	look := func(rule string, why error) {
		if answered, ok := errors.AsType[redis.Error](why); why != nil && !ok {
			err = why
		} else if ok && strings.Contains(answered.Error(), "NOPERM") {
			denied = append(denied, deniedRule(rule, prefix, answered.Error()))
		}
	}
	for i, p := range needed {
		look(p.rule, calls[i].Err())
	}
	for rule, send := range map[string]func(*redis.PubSub) error{
		"+subscribe":    func(s *redis.PubSub) error { return s.Subscribe(ctx, prefix+probe) },
		"+unsubscribe":  func(s *redis.PubSub) error { return s.Unsubscribe(ctx, prefix+probe) },
		"+ssubscribe":   func(s *redis.PubSub) error { return s.SSubscribe(ctx, prefix+probe) },
		"+sunsubscribe": func(s *redis.PubSub) error { return s.SUnsubscribe(ctx, prefix+probe) },
	} {
		sub := c.Subscribe(ctx) // each on a connection of its own: it may be subscribed anew after a refusal
		why := send(sub)
		if why == nil {
			_, why = sub.ReceiveTimeout(ctx, redisTimeout)
		}
		_ = sub.Close()
		look(rule, why)
	}
	return denied, err
}

// deniedRule tells from Redis' words, those of 6.2 and 7.0 or those of 7.2, whether a command, a key or a channel is denied.
func deniedRule(rule, prefix, why string) string {
	switch {
	case strings.Contains(why, "permissions to run"):
		return rule
	case strings.Contains(why, "channel"):
		return "&" + prefix + "*"
	default:
		return "~" + prefix + "*"
	}
}

// permissionsEvery is how often a daemon asks about the ACL, which are some 50 commands.
const permissionsEvery = 10 * time.Minute

// permissions asks now and then what Redis' ACL denies, and each time while it denies something.
func (w *settingsWatch) permissions(ctx context.Context) {
	if w.denied == "" && time.Since(w.asked) < permissionsEvery {
		return
	}
	limited, cancel := context.WithTimeout(ctx, settingsLimit)
	defer cancel()
	_, err := w.config.checkPermissions(limited, w.client)
	if err != nil && !errors.Is(err, errPermission) {
		return
	}
	denied := ""
	if err != nil {
		denied = err.Error() + ": picket doctor says what would be right"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.asked = time.Now(); {
	case denied == w.denied:
	case denied == "":
		w.log.Info("Redis' ACL denies nothing any more")
	default:
		w.log.Warn(denied)
	}
	w.denied = denied
}
