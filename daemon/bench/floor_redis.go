// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// The daemon's own defaults.
const (
	lockTTL    = 15 * time.Second
	keep       = 720 * time.Hour
	keepGrants = 2160 * time.Hour
	flow       = client.FlowAssetInference
)

// redisOptions are those of the daemon.
func redisOptions(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, PoolSize: 64,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
		ReadBufferSize: 8 << 10, WriteBufferSize: 8 << 10, PipelineReadBufferSize: 32 << 10, PipelineWriteBufferSize: 32 << 10,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// redisWork is what the daemon asks of Redis for the measured calls, and nothing else. Assets must be plain: letters, digits,
// dots and hyphens.
type redisWork struct {
	redis                    *redis.Client
	locks                    *redsync.Redsync
	read, mint, step, finish *redis.Script
}

// newRedisWork runs the daemon's own scripts.
func newRedisWork(addr string) *redisWork {
	c, scripts := redis.NewClient(redisOptions(addr)), store.Scripts()
	return &redisWork{
		redis: c, locks: redsync.New(goredis.NewPool(c)),
		read: scripts["read"], mint: scripts["mint"], step: scripts["step"], finish: scripts["finish"],
	}
}

// light is up to how many bytes of a ticket the daemon reads at once.
const light = 64 << 10

// held is a claim of the floor.
type held struct {
	asset, task, nonce string
	token              int64
	writes             int64             // that were made
	steps              map[string]string // that were recorded, as JSON, by the field's name
}

// next is the number of the claim's next write.
func (h *held) next() int64 {
	h.writes++
	return h.writes
}

func (h *held) key(name string) string { return "picket:{" + h.asset + "}:" + name }

// call runs a script and returns its ticket and what follows that.
func (w *redisWork) call(ctx context.Context, s *redis.Script, h *held, refusal string, more ...any) (map[string]string, []any, error) {
	keys := []string{
		h.key("lock"), h.key("grant"), h.key("ticket:" + h.task), h.key("log:" + h.task), h.key("refused:" + h.task), h.key("tickets"),
	}
	args := append([]any{
		h.token, h.nonce, h.asset + "/" + h.task, h.task, "floor", "1/0", keep.Milliseconds(),
		"picket:released", h.asset, refusal,
	}, more...)
	reply, err := s.Run(ctx, w.redis, keys, args...).Slice()
	switch {
	case err != nil:
		return nil, nil, err
	case len(reply) < 2 || reply[0] != int64(0):
		return nil, nil, fmt.Errorf("cannot go on: the script answered %v", reply)
	}
	pairs, _ := reply[1].([]any)
	fields := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		fields[name], _ = pairs[i+1].(string)
	}
	maps.Copy(fields, h.steps)
	return fields, reply[2:], nil
}

// ticket reads a ticket without a lock.
func (w *redisWork) ticket(ctx context.Context, asset, task string) (map[string]string, error) {
	fields, rest, err := w.call(ctx, w.read, &held{asset: asset, task: task}, "", light)
	if err != nil {
		return nil, err
	}
	records, _ := rest[len(rest)-1].([]any)
	for i := range records { // a field's name, its event, and its facts
		one, _ := records[i].([]any)
		if len(one) != 3 {
			continue
		}
		event := strings.Split(one[1].(string), "\t")
		b, err := json.Marshal(client.Step{State: event[3], Token: number(event[4]), Host: event[6], At: millis(event[0]), Summary: event[9], Facts: json.RawMessage(one[2].(string))})
		if err != nil {
			return nil, err
		}
		fields[strings.Replace(one[0].(string), "record.", "steps.", 1)] = string(b)
	}
	return fields, nil
}

// claim screens, locks and mints.
func (w *redisWork) claim(ctx context.Context, asset, task string) (*held, map[string]string, error) {
	h := &held{asset: asset, task: task, steps: map[string]string{}}
	if _, err := w.ticket(ctx, asset, task); err != nil {
		return nil, nil, err
	}
	h.nonce = rand.Text()
	lock := w.locks.NewMutex(h.key("lock"), redsync.WithExpiry(lockTTL), redsync.WithTries(1), redsync.WithTimeoutFactor(1.0/6),
		redsync.WithGenValueFunc(func() (string, error) { return h.nonce, nil }))
	if err := lock.LockContext(ctx); err != nil {
		return nil, nil, err
	}
	fields, rest, err := w.call(ctx, w.mint, h, "", flow, client.StateInit, keepGrants.Milliseconds())
	if err != nil {
		return nil, nil, err
	}
	ok := len(rest) > 1
	if ok {
		h.token, ok = rest[1].(int64)
	}
	if !ok {
		return nil, nil, errors.New("cannot go on: no token came with the grant")
	}
	return h, fields, nil
}

// from are the states from which each step of the sequence comes, as the daemon sends them.
var from = map[string]string{
	"online": ",INIT,ASSET_OFFLINE,", "vuln": ",ASSET_ONLINE,", "intel": ",VULN_CHECK_DONE,", "assess": ",VULN_CHECK_DONE,",
}

// record records a step.
func (w *redisWork) record(ctx context.Context, h *held, r client.StepRequest) (map[string]string, error) {
	record, err := json.Marshal(client.Step{
		State: r.State, Facts: r.Facts, Summary: r.Summary, Token: h.token, Host: "floor", At: time.Now().Round(time.Millisecond).UTC(),
	})
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(r.Facts)
	anew := from[r.Step]
	if r.Step == client.StepIntel {
		anew = "," // the arrow stays in its state
	}
	risk := ""
	if r.Step == client.StepAssess {
		risk = "0"
	}
	h.steps["steps."+r.Step] = string(record)
	fields, _, err := w.call(ctx, w.step, h, refusal("step", h.token), h.next(), r.Step, r.State, base64.RawURLEncoding.EncodeToString(digest[:]),
		from[r.Step], anew, r.Summary, risk, "0", []byte(r.Facts))
	return fields, err
}

// end finishes the ticket and ends the claim.
func (w *redisWork) end(ctx context.Context, h *held) (map[string]string, error) {
	fields, _, err := w.call(ctx, w.finish, h, refusal("finished", h.token), h.next(),
		",ASSET_OFFLINE,VULN_CHECK_DONE,NOTIFYING,NOTIFIED,", "")
	return fields, err
}

func refusal(event string, token int64) string {
	return fmt.Sprintf(`{"event":%q,"token":%d,"host":"floor","agent":"1/0"}`, event, token)
}

// sequence is an agent's work without a socket.
func (w *redisWork) sequence(ctx context.Context, asset, task string) error {
	h, _, err := w.claim(ctx, asset, task)
	if err != nil {
		return err
	}
	for _, r := range steps {
		if _, err := w.record(ctx, h, r); err != nil {
			return err
		}
	}
	_, err = w.end(ctx, h)
	return err
}
