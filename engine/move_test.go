// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// TestMovingToAnotherRedisLosesNoTicket: as docs/redis.md says how, between a stop of the daemons and their next start. Claims live on,
// tickets and histories are the same, tokens only grow, and what was accepted is delivered.
func TestMovingToAnotherRedisLosesNoTicket(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(*testing.T, *redistest.Server) redis.UniversalClient{
		"standalone to standalone": toAnother,
		"standalone to Sentinel":   behindSentinels,
		"standalone to Cluster":    ontoCluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, old := setup(t)
			folder := t.TempDir()
			box, err := outbox.Open(filepath.Join(folder, "kept.db"), outbox.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = box.Close() })
			same := func(c *Config) { c.Outbox, c.TTL = box, 5*time.Minute }

			e, stop := f.run(folder, same)
			held, _ := claimed(t, e, "held", "t")
			told, _ := claimed(t, e, "told", "t")
			intent := notified(t, e, told, "ops")
			done, _ := claimed(t, e, "done", "t")
			advance(t, e, done, store.AssetOnline)
			if _, err := e.Fail(t.Context(), done.ID, agent, FailureRequest{Step: "vuln", Error: "no", Final: true}); err != nil {
				t.Fatal(err)
			}
			letGo(t, e, "done")
			tickets := []store.TicketID{held.Ticket, told.Ticket, done.Ticket}
			before := records(t, e, tickets)
			look(t, e)
			stop()

			f.client = move(t, old)
			e, _ = f.run(folder, same)
			if after := records(t, e, tickets); !reflect.DeepEqual(before, after) {
				t.Errorf("before %+v\nafter  %+v", before, after)
			}
			if _, err := step(t, e, held, "online", store.AssetOnline, ""); err != nil {
				t.Errorf("the claim does not live on: %v", err)
			}
			if next, _ := claimed(t, e, "done", "another"); next.Token <= done.Token {
				t.Errorf("the token after %d is %d", done.Token, next.Token)
			}
			verdict(t, e, attempt(e, told.Ticket, intent, "ops", 1), outbox.Go)
			look(t, e)
			if said := alarmed(e); len(said) > 0 {
				t.Errorf("the alarms are %q", said)
			}
		})
	}
}

// kept is what must be the same after a move.
type kept struct {
	State   store.State
	Token   int64
	Events  []store.Event
	Refused []store.Event
}

func records(t *testing.T, e *Engine, ids []store.TicketID) (all []kept) {
	t.Helper()
	for _, id := range ids {
		ticket, err := e.Ticket(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		events, refused, err := e.History(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, kept{ticket.State, ticket.Token, events, refused})
	}
	return all
}

// toAnother makes a replica, and the replica a master of its own.
func toAnother(t *testing.T, old *redistest.Server) redis.UniversalClient {
	replica := redistest.StartReplica(t, old)
	caughtUp(t, old, replica)
	if err := replica.Client().ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	old.Kill()
	return closing(t, client(replica.Addr()))
}

// behindSentinels gives the master a replica and a Sentinel, and fails over, to see that the replica has it all.
func behindSentinels(t *testing.T, old *redistest.Server) redis.UniversalClient {
	replica := redistest.StartReplica(t, old)
	set := redistest.WatchStill(t, old, replica)
	caughtUp(t, old, replica)
	old.Kill()
	set.Failover()
	c := sentinelClient(t, set)
	eventually(t, "the new master takes writes", func() bool { return c.Set(t.Context(), "probe", 1, 0).Err() == nil })
	return c
}

// ontoCluster has redis-cli copy each key to the node of its slot.
func ontoCluster(t *testing.T, old *redistest.Server) redis.UniversalClient {
	cluster := redistest.StartReplicatedCluster(t)
	cmd := exec.CommandContext(t.Context(), "redis-cli", "--cluster", "import", cluster.Servers[0].Addr(), "--cluster-from", old.Addr(), "--cluster-copy")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	old.Kill()
	return closing(t, client(cluster.Addrs()...))
}

// caughtUp waits until the replica has all that the old server has; nobody writes there any more.
func caughtUp(t *testing.T, old, replica *redistest.Server) {
	t.Helper()
	c := old.Client().Conn() // a connection is answered for what it wrote itself
	defer c.Close()
	if err := c.Set(t.Context(), "probe", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica has it all", func() bool { return c.Wait(t.Context(), 1, time.Second).Val() == 1 })
	if a, b := c.DBSize(t.Context()).Val(), replica.Client().DBSize(t.Context()).Val(); a != b {
		t.Errorf("%d keys became %d", a, b)
	}
}

func closing(t *testing.T, c redis.UniversalClient) redis.UniversalClient {
	t.Cleanup(func() { _ = c.Close() })
	return c
}
