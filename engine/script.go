// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/common.lua
	commonLua string
	//go:embed lua/claim.lua
	claimLua string
	//go:embed lua/delivery.lua
	deliveryLua string
	//go:embed lua/settle.lua
	settleLua string
	//go:embed lua/read.lua
	readLua string
	//go:embed lua/mint.lua
	mintLua string
	//go:embed lua/step.lua
	stepLua string
	//go:embed lua/failure.lua
	failureLua string
	//go:embed lua/finish.lua
	finishLua string
	//go:embed lua/release.lua
	releaseLua string
	//go:embed lua/refuse.lua
	refuseLua string
	//go:embed lua/notify.lua
	notifyLua string
	//go:embed lua/attempt.lua
	attemptLua string
	//go:embed lua/outcome.lua
	outcomeLua string
	//go:embed lua/break.lua
	breakLua string
	//go:embed lua/reopen.lua
	reopenLua string
	//go:embed lua/resolve.lua
	resolveLua string
	//go:embed lua/retry.lua
	retryLua string
	//go:embed lua/own.lua
	ownLua string
	//go:embed lua/idle.lua
	idleLua string
	//go:embed lua/sign.lua
	signLua string
	//go:embed lua/store.lua
	storeLua string
	//go:embed lua/drophint.lua
	dropHintLua string
)

// script is a Lua script with its name for the metrics, and how the audit tells what it wrote; nil: it writes nothing to tell of.
type script struct {
	name string
	tell teller
	*redis.Script
}

func newScript(name string, tell teller, parts ...string) script {
	return script{name, tell, redis.NewScript(strings.Join(parts, "\n"))}
}

var (
	readScript    = newScript("read", nil, commonLua, readLua)
	mintScript    = newScript("mint", tellMint, commonLua, mintLua)
	stepScript    = newScript("step", tellTicket, commonLua, claimLua, stepLua)
	failureScript = newScript("failure", tellTicket, commonLua, claimLua, failureLua)
	finishScript  = newScript("finish", tellTicket, commonLua, claimLua, finishLua)
	releaseScript = newScript("release", tellRelease, commonLua, releaseLua)
	refuseScript  = newScript("refuse", nil, commonLua, refuseLua)
	notifyScript  = newScript("notify", tellTicket, commonLua, claimLua, notifyLua)
	attemptScript = newScript("attempt", tellAttempt, commonLua, settleLua, deliveryLua, attemptLua)
	outcomeScript = newScript("outcome", tellOutcome, commonLua, settleLua, deliveryLua, outcomeLua)
	breakScript   = newScript("break", tellBreak, commonLua, breakLua)
	reopenScript  = newScript("reopen", tellTicket, commonLua, reopenLua)
	resolveScript = newScript("resolve", tellTicket, commonLua, settleLua, resolveLua)
	retryScript   = newScript("retry", tellTicket, commonLua, retryLua)
	ownScript     = newScript("own", tellOwn, commonLua, ownLua)
	idleScript    = newScript("idle", tellIdle, commonLua, idleLua)

	signScript     = redis.NewScript(signLua)
	storeScript    = redis.NewScript(storeLua)
	dropHintScript = redis.NewScript(dropHintLua)
)

// code is the first element of every script's reply; the names are those of lua/common.lua and lua/delivery.lua.
type code int64

const (
	codeOK       code = 0
	codeReplayed code = 1
	codeStale    code = 2
	codeIllegal  code = 3
	codeConflict code = 4
	codeGone     code = 5
	codeMismatch code = 6
	codeTerminal code = 7
	codeBig      code = 8

	codeGo         code = 20
	codeBusy       code = 21
	codeDone       code = 22
	codeSuperseded code = 23
	codeLost       code = 24
	codePark       code = 25
	codeMoved      code = 26
)

// reply is a script's decoded reply: its code and what follows it.
type reply struct {
	code code
	rest []any
}

// pairs is element i as the fields of a hash.
func (r reply) pairs(i int) map[string]string {
	list, _ := r.at(i).([]any)
	fields := make(map[string]string, len(list)/2)
	for j := 0; j+1 < len(list); j += 2 {
		name, _ := list[j].(string)
		fields[name], _ = list[j+1].(string)
	}
	return fields
}

func (r reply) text(i int) string { s, _ := r.at(i).(string); return s }

// member is one field of the hash that element i is.
func (r reply) member(i int, name string) string {
	list, _ := r.at(i).([]any)
	for j := 0; j+1 < len(list); j += 2 {
		if list[j] == name {
			value, _ := list[j+1].(string)
			return value
		}
	}
	return ""
}

func (r reply) number(i int) int64 { n, _ := r.at(i).(int64); return n }

// texts is element i as a list in which nil is "".
func (r reply) texts(i int) []string {
	list, _ := r.at(i).([]any)
	texts := make([]string, len(list))
	for j := range list {
		texts[j], _ = list[j].(string)
	}
	return texts
}

func (r reply) at(i int) any {
	if i >= len(r.rest) {
		return nil
	}
	return r.rest[i]
}

// run runs a script, again and again while Redis does not answer, until the context ends. It may be sent twice, with the same
// arguments; every script bears that.
//
// Errors: ErrStoreUnavailable, or the context's cause when it was cancelled (not when its time ran out).
func (e *Engine) run(ctx context.Context, s script, keys []string, args ...any) (reply, error) {
	start := time.Now()
	defer func() { e.metrics.redis.WithLabelValues(s.name).Observe(time.Since(start).Seconds()) }()
	for {
		v, err := e.pipelineOf(s).run(ctx, s, keys, args)
		if err == nil {
			if len(v) == 0 {
				return reply{}, fmt.Errorf("%w: script %s answered nothing", ErrStoreUnavailable, s.name)
			}
			n, _ := v[0].(int64)
			return reply{code(n), v[1:]}, nil
		}
		if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), errSilent) {
			return reply{}, context.Cause(ctx)
		}
		if !transient(err) {
			return reply{}, unavailable(err)
		}
		select {
		case <-ctx.Done():
			return reply{}, unavailable(err)
		case <-e.waiting.Done():
			return reply{}, errGivenUp
		case <-time.After(retryPause):
		}
	}
}

// pipelineOf is that of a script: the ends of claims wait for no other call.
func (e *Engine) pipelineOf(s script) *pipeline {
	if s.Script == releaseScript.Script {
		return e.ends
	}
	return e.scripts
}

// transient reports whether an error of Redis may pass within a call's time: no answer, or a node that is loading, failing
// over or moving.
func transient(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return true
	}
	if strings.Contains(answer.Error(), "NOREPLICAS ") { // within a script's error, on Redis 6
		return true
	}
	for _, prefix := range []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY"} {
		if strings.HasPrefix(answer.Error(), prefix) {
			return true
		}
	}
	return false
}

// errGivenUp is what a call is answered that waited for Redis when the daemon's time to stop was over.
var errGivenUp = &StoreError{Why: "no answer before the daemon stopped", silent: true}

// errNoAnswer tells an ErrStoreUnavailable without any answer from one that Redis answered.
var errNoAnswer = errors.New("no answer")

// unavailable makes an error of Redis an ErrStoreUnavailable.
func unavailable(err error) error {
	var answer redis.Error
	switch {
	case errors.Is(err, ErrStoreUnavailable):
		return err
	case !errors.As(err, &answer):
		return &StoreError{Why: fmt.Sprintf("no answer: %v", err), silent: true}
	case strings.Contains(err.Error(), "OOM command not allowed"):
		return &StoreError{Why: "it is out of memory and refuses writes: raise maxmemory", full: true}
	}
	return &StoreError{Why: err.Error()}
}
