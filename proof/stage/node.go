// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Node is a redis-server or a Sentinel in a network namespace of its own. Its methods may be called at the same time.
type Node struct {
	process
	Name string // redis-1, sentinel-1
	Addr string // host:port

	link   *link
	dir    string // its data, in memory
	log    string
	kind   []string // after the name of its configuration: --sentinel, or nothing
	env    []string
	clock  *clock // nil without Options.Clocks
	client *redis.Client
}

func (n *Node) at() *link { return n.link }

// Redis' standard ports.
const (
	redisPort    = 6379
	sentinelPort = 26379
)

// everyRedis is how all servers that hold data are configured. What was confirmed is in the append-only file, so a server that is
// killed loses nothing of it.
const everyRedis = `
save ""
appendonly yes
appendfsync always
maxmemory-policy noeviction
repl-diskless-sync-delay 0
repl-ping-replica-period 1
repl-timeout 10
`

// newNode makes a node and its configuration, and starts nothing.
func (s *Stage) newNode(ctx context.Context, name string, port int, lines ...string) (*Node, error) {
	l, err := s.router.add(ctx, name)
	if err != nil {
		return nil, err
	}
	n := &Node{
		Name: name, Addr: fmt.Sprintf("%s:%d", l.ip, port), link: l,
		dir: filepath.Join(private, name), log: filepath.Join(s.options.Dir, name+".log"),
	}
	n.client = redis.NewClient(&redis.Options{
		Addr: n.Addr, Protocol: 2, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true, PoolSize: 2,
		DialTimeout: doLimit, ReadTimeout: doLimit,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	lines = append([]string{
		fmt.Sprint("port ", port), "bind 0.0.0.0", "protected-mode no", "dir " + n.dir, `logfile ""`, "daemonize no",
	}, lines...)
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return nil, err
	}
	return n, os.WriteFile(n.conf(), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// newRedis makes a node that holds data.
func (s *Stage) newRedis(ctx context.Context, number int, lines ...string) (*Node, error) {
	n, err := s.newNode(ctx, fmt.Sprint("redis-", number), redisPort, append(lines, everyRedis)...)
	if err == nil && s.options.Clocks {
		n.clock, err = newClock(filepath.Join(n.dir, "clock"))
		n.env = n.clock.env()
	}
	if err == nil {
		s.Nodes = append(s.Nodes, n)
	}
	return n, err
}

// conf is the configuration, which servers rewrite when their roles change.
func (n *Node) conf() string { return filepath.Join(n.dir, "redis.conf") }

// Start starts the server with the data that it has, and waits until it answers and has loaded them. One that runs is left alone.
func (n *Node) Start(ctx context.Context) error {
	n.starting.Lock()
	defer n.starting.Unlock()
	if n.Running() {
		return nil
	}
	cmd := inside(n.link, "redis-server", append([]string{n.conf()}, n.kind...)...)
	cmd.Env = append(os.Environ(), n.env...)
	if err := n.start(cmd, n.log, func(int) {}, func(int, string) {}); err != nil {
		return err
	}
	return n.await(ctx, "answer", func() bool {
		_, err := n.Do(ctx, "PING")
		return err == nil
	})
}

// await waits until the node's state is as wanted. A node that ends meanwhile is an error, with the end of its log.
func (n *Node) await(ctx context.Context, what string, holds func() bool) error {
	for !holds() {
		switch {
		case !n.Running():
			return fmt.Errorf("%s has ended: %s", n.Name, tail(n.log))
		case ctx.Err() != nil:
			return fmt.Errorf("%s does not %s: %w", n.Name, what, ctx.Err())
		}
		time.Sleep(pollEvery)
	}
	return nil
}

// doLimit is how long Do waits for a frozen or busy node.
const doLimit = 2 * time.Second

// Do sends a command over the harness' own link, which is never cut, and waits 2 s at most for its reply.
func (n *Node) Do(ctx context.Context, args ...any) (any, error) {
	return n.client.Do(ctx, args...).Result()
}

// info is a field of INFO, or of CLUSTER INFO; empty when the node does not answer.
func (n *Node) info(ctx context.Context, field string, command ...any) string {
	text, err := n.client.Do(ctx, command...).Text()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, field+":"); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Master reports whether the node says that it is a master.
func (n *Node) Master(ctx context.Context) bool {
	return n.info(ctx, "role", "INFO", "replication") == "master"
}

// inStep reports whether the node says that it is a replica in step.
func (n *Node) inStep(ctx context.Context) bool {
	return n.info(ctx, "master_link_status", "INFO", "replication") == "up"
}

// StepClock sets the server's clock that much forward, or back; steps add up. It demands Options.Clocks.
func (n *Node) StepClock(d time.Duration) error {
	if n.clock == nil {
		return errors.New("the clocks of this stage cannot be stepped: Options.Clocks is false")
	}
	n.clock.step(d)
	return nil
}

func (n *Node) close() {
	n.Kill()
	_ = n.client.Close()
	if n.clock != nil {
		n.clock.close()
	}
}
