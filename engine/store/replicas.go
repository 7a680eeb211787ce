// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
)

// Replicas says how many replicas must have a write before what it promises is promised: a grant, NOTIFYING, an attempt on an
// at_most_once channel, and another daemon that answers for a ticket. So a failover to one of them loses none of these.
type Replicas struct {
	Number int                   // 0: none is waited for
	Within time.Duration         // how long they are waited for
	GoOn   bool                  // afterwards the promise is made all the same, and the audit says so; else it is not made
	Redis  redis.UniversalClient // connections for these writes alone: each waits on the one that wrote. An answer takes up to Within longer there
}

// ErrReplicasMissing: too few replicas have what was written. It is also an ErrUnavailable.
var ErrReplicasMissing = errors.New("too few replicas have what was written")

// lackingError says how many have it.
type lackingError struct {
	have   int64
	number int
	within time.Duration
}

func (e *lackingError) Error() string {
	return fmt.Sprintf("%v: %d of %d within %s", ErrReplicasMissing, e.have, e.number, e.within)
}

func (e *lackingError) Is(target error) bool {
	return target == ErrReplicasMissing || target == ErrUnavailable
}

var replicatedScript = promising(newScript("replicated", "common"))

// Replicated waits until the replicas have all that was written to a ticket up to now. It is false when the ticket has another intent.
// Errors: ErrReplicasMissing, ErrUnavailable.
func (s *Store) Replicated(ctx context.Context, id TicketID, intent string) (bool, error) {
	if s.c.Replicas.Number == 0 {
		return true, nil
	}
	r, err := s.write(ctx, replicatedScript, id, Writer{Agent: deliverer}, "", audit.Event{}, func(reply, *audit.Event) {}, intent)
	return err == nil && r.code == OK, err
}

// lacking is what too few replicas mean for a write that Redis took: nothing when it promises nothing, a record in the audit, or the
// error that it is.
func (s *Store) lacking(r reply, told audit.Event, err *lackingError) error {
	if r.code != OK && r.code != Replayed && r.code != proceed {
		return nil
	}
	s.lacked.Inc()
	if !s.c.Replicas.GoOn {
		return err
	}
	told.Kind, told.Reason = audit.Unreplicated, err.Error()
	s.c.Audit(told)
	return nil
}

// waitOn waits on a connection for the replicas, after what was sent before. What it returns says afterwards why they are too few, or nil.
func (r Replicas) waitOn(ctx context.Context, pipe redis.Pipeliner) func() error {
	if r.Number == 0 {
		return func() error { return nil }
	}
	wait := pipe.Do(ctx, "wait", r.Number, r.Within.Milliseconds())
	return func() error {
		have, err := wait.Int64()
		if err == nil && have < int64(r.Number) {
			err = &lackingError{have, r.Number, r.Within}
		}
		return err
	}
}

// runKept runs one script and waits for the replicas of its master.
func (p *pipeline) runKept(ctx context.Context, s script, keys []string, args []any) ([]any, error) {
	master, err := p.master(ctx, keys[0])
	if err != nil {
		return nil, err
	}
	c := &scriptCall{ctx: ctx, script: s, keys: keys, args: args}
	calls, asking := []*scriptCall{c}, false
	p.send(ctx, master, calls, bySHA, false)
	if to, ask, is := elsewhere(c.err); is { // the Cluster client does not follow here
		p.redis.(*redis.ClusterClient).ReloadState(ctx)
		o := *master.Options()
		o.Addr, asking = to, ask
		master = redis.NewClient(&o)
		defer master.Close()
		p.send(ctx, master, calls, bySHA, asking)
	}
	if redis.HasErrorPrefix(c.err, "NOSCRIPT") {
		p.send(ctx, master, calls, byText, asking)
	}
	return c.reply, c.err
}

func bySHA(c *scriptCall, to redis.Scripter) *redis.Cmd {
	return c.script.linked().EvalSha(c.ctx, to, c.keys, c.args...)
}

func byText(c *scriptCall, to redis.Scripter) *redis.Cmd {
	return c.script.linked().Eval(c.ctx, to, c.keys, c.args...)
}

// master is where a key is written.
func (p *pipeline) master(ctx context.Context, key string) (*redis.Client, error) {
	if cluster, ok := p.redis.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return p.single, nil
}

// elsewhere is where a node of a Cluster says that a key is: from now on, or (ask) for this command.
func elsewhere(err error) (addr string, ask, is bool) {
	if !redis.HasErrorPrefix(err, "MOVED ") && !redis.HasErrorPrefix(err, "ASK ") {
		return "", false, false
	}
	word := strings.Fields(err.Error()) // MOVED 3999 127.0.0.1:6381
	return word[len(word)-1], word[0] == "ASK", len(word) == 3
}
