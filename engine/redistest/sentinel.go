// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sentinel is a master with one replica, and one sentinel that fails over after the master has been silent for half a
// second.
type Sentinel struct {
	MasterName string
	Master     *Server // what it was at the start; a failover makes it the other one
	Replica    *Server
	Sentinel   *Server   // never holds data
	Others     []*Server // further sentinels, of More

	silent time.Duration // after which a sentinel takes the master for gone
}

// StartSentinel starts the three, and waits until the sentinel knows the replica and the replica is in step. The args are
// for master and replica.
func StartSentinel(t testing.TB, args ...string) *Sentinel {
	t.Helper()
	return startSentinelSet(t, 500*time.Millisecond, args)
}

// stillness is how long a master may be silent before one of its replicas takes over. No busy machine stands still for so long.
const stillness = 5 * time.Minute

// StartStillSentinel is StartSentinel with a sentinel that fails over only when it is told to, however long a machine stands still.
func StartStillSentinel(t testing.TB, args ...string) *Sentinel {
	t.Helper()
	return startSentinelSet(t, stillness, args)
}

// StartSlowSentinel is StartSentinel with a sentinel that fails over after the master has been silent for so long.
func StartSlowSentinel(t testing.TB, silent time.Duration, args ...string) *Sentinel {
	t.Helper()
	return startSentinelSet(t, silent, args)
}

// Failover makes the replica of the start the master, whether the master of the start lives or not, and returns when the sentinel says so.
func (s *Sentinel) Failover() {
	t := s.Master.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	sentinel := redis.NewSentinelClient(s.Sentinel.Options())
	defer sentinel.Close()
	waitUntil(t, ctx, "the replica made the master", func() bool {
		_ = sentinel.Failover(ctx, s.MasterName).Err() // while it is under way, or knows no good replica yet, an error
		addr, err := sentinel.GetMasterAddrByName(ctx, s.MasterName).Result()
		return err == nil && strings.Join(addr, ":") == s.Replica.Addr()
	})
}

// Detach cuts the replica from the master for good: from now on the master's writes are lost in a failover. The replica stands still until
// Thaw.
func (s *Sentinel) Detach() {
	s.Master.t.Helper()
	s.Replica.Freeze()
	s.Master.with(func(r *redis.Client) {
		check(s.Master.t, r.ClientKillByFilter(s.Master.t.Context(), "type", "replica").Err(), "cannot cut the replica")
	})
}

func startSentinelSet(t testing.TB, silent time.Duration, args []string) *Sentinel {
	t.Helper()
	user, password := credentials(args)
	if password != "" {
		args = slices.Concat(args, []string{"--masterauth", password})
	}
	if user != "" {
		args = slices.Concat(args, []string{"--masteruser", user})
	}
	master := Start(t, args...)
	host, port, _ := strings.Cut(master.Addr(), ":")
	return watch(t, silent, master, Start(t, slices.Concat(args, []string{"--replicaof", host, port})...))
}

// WatchStill puts a sentinel before a master and its replica that run, as StartStillSentinel has it.
func WatchStill(t testing.TB, master, replica *Server) *Sentinel {
	t.Helper()
	return watch(t, stillness, master, replica)
}

func watch(t testing.TB, silent time.Duration, master, replica *Server) *Sentinel {
	t.Helper()
	s := &Sentinel{MasterName: "main", Master: master, Replica: replica, silent: silent}
	user, password := credentials(master.args)
	host, port, _ := strings.Cut(master.Addr(), ":")
	s.Sentinel = startSentinel(t, s.MasterName, silent, host, port, user, password, secure(master.args))

	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s.Replica.with(func(r *redis.Client) {
		waitUntil(t, ctx, "the replica in step", func() bool { return linkIsUp(ctx, r) })
	})
	sentinel := redis.NewSentinelClient(s.Sentinel.Options())
	defer sentinel.Close()
	waitUntil(t, ctx, "the replica known to the sentinel", func() bool {
		replicas, err := sentinel.Replicas(ctx, s.MasterName).Result()
		return err == nil && len(replicas) == 1 && replicas[0]["flags"] == "slave" &&
			replicas[0]["master-link-status"] == "ok"
	})
	return s
}

// startSentinel starts a sentinel; with the arguments of TLS it speaks that, to its clients and to the servers.
func startSentinel(t testing.TB, name string, silent time.Duration, host, port, user, password string, tls []string) *Server {
	t.Helper()
	s := newServer(t, nil)
	conf := filepath.Join(s.dir, "sentinel.conf") // the sentinel rewrites it
	lines := []string{
		fmt.Sprintf("sentinel monitor %s %s %s 1", name, host, port),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", name, silent.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s 3000", name),
	}
	if password != "" {
		lines = append(lines, fmt.Sprintf("sentinel auth-pass %s %s", name, password))
	}
	if user != "" {
		lines = append(lines, fmt.Sprintf("sentinel auth-user %s %s", name, user))
	}
	check(t, os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600), "cannot write the sentinel's configuration")
	s.command = func() []string {
		listen := []string{"--port", strconv.Itoa(s.port)}
		if len(tls) > 0 {
			listen = slices.Concat([]string{"--port", "0", "--tls-port", strconv.Itoa(s.port)}, tls)
		}
		return slices.Concat([]string{conf, "--sentinel", "--bind", "127.0.0.1"}, listen, []string{
			"--protected-mode", "no", "--unixsocket", s.SocketPath(), "--dir", s.dir, "--logfile", s.logPath(), "--daemonize", "no",
		})
	}
	s.launchOnFreePort()
	return s
}

// More starts further sentinels, and waits until each knows all others.
func (s *Sentinel) More(t testing.TB, n int) {
	t.Helper()
	host, port, _ := strings.Cut(s.Master.Addr(), ":")
	user, password := credentials(s.Master.args)
	for range n {
		s.Others = append(s.Others, startSentinel(t, s.MasterName, s.silent, host, port, user, password, secure(s.Master.args)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for _, one := range append(s.Others, s.Sentinel) {
		c := redis.NewSentinelClient(one.Options())
		defer c.Close()
		waitUntil(t, ctx, "each sentinel known to the others", func() bool {
			others, err := c.Sentinels(ctx, s.MasterName).Result()
			return err == nil && len(others) == len(s.Others)
		})
	}
}

// Addrs are the sentinels' addresses on loopback.
func (s *Sentinel) Addrs() []string {
	addrs := []string{s.Sentinel.Addr()}
	for _, other := range s.Others {
		addrs = append(addrs, other.Addr())
	}
	return addrs
}

// Options connect to whichever server is the master, and retry nothing. They are the caller's to change.
func (s *Sentinel) Options() *redis.FailoverOptions {
	o := s.Master.Options()
	return &redis.FailoverOptions{
		MasterName: s.MasterName, SentinelAddrs: s.Addrs(), Username: o.Username, Password: o.Password,
		ContextTimeoutEnabled: true, DialerRetries: 1, MaxRetries: -1, DisableIdentity: true,
	}
}

// Client returns a new client with Options, closed when the test ends.
func (s *Sentinel) Client() *redis.Client {
	c := redis.NewFailoverClient(s.Options())
	s.Master.t.Cleanup(func() { _ = c.Close() })
	return c
}
