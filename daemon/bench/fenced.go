// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/sockapi/client"
)

const (
	fencedSteps = 5000
	fencedMost  = 5 // times the least fenced write
)

// leastWrite compares a token and writes a field.
var leastWrite = redis.NewScript(`if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return 1`)

// fencedStep is P20, on a Redis that does nothing else.
func (h *host) fencedStep(ctx context.Context) row {
	own := must(newHost(h.picket))
	defer own.stop()
	own.startRedis(ctx)
	work := newRedisWork(own.redisAddr)
	defer work.redis.Close()
	facts := json.RawMessage(`{"note":"` + strings.Repeat("x", 100-len(`{"note":""}`)) + `"}`)
	claims := make([]*held, fencedSteps)
	for i := range claims {
		var err error
		claims[i], _, err = work.claim(ctx, newAsset(), task)
		check(err)
	}
	spent := func(write func(*held) error) time.Duration {
		before := readAccount(ctx, work.redis)
		for _, c := range claims {
			check(write(c))
		}
		return readAccount(ctx, work.redis).since(before).script / fencedSteps
	}
	step := spent(func(c *held) error {
		_, err := work.record(ctx, c, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline, Facts: facts})
		return err
	})
	least := spent(func(c *held) error {
		n, err := leastWrite.Run(ctx, work.redis, []string{c.key("grant"), c.key("least")}, c.token, "facts", string(facts)).Int()
		if err == nil && n != 1 {
			err = errors.New("cannot compare: the token is not that of the grant")
		}
		return err
	})
	ratio := step.Seconds() / least.Seconds()
	return row{
		"P20", "Redis' time for a fenced step with 100 bytes of facts; floor: the least fenced write, a token compared and a field set",
		fmt.Sprintf("%.1f µs", step.Seconds()*1e6), fmt.Sprintf("%.1f µs", least.Seconds()*1e6), times(ratio), fmt.Sprintf("≤ %d×", fencedMost), ratio <= fencedMost,
	}
}
