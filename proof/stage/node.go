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
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Node is a redis-server or a Sentinel in a network namespace of its own. Its methods may be called at the same time.
type Node struct {
	process
	Name string // redis-1, sentinel-1
	Addr string // host:port

	link  *link
	dir   string // its data, in memory
	log   string
	kind  []string // after the name of its configuration: --sentinel, or nothing
	clock *clock   // nil without Options.Clocks
	still *sync.RWMutex
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

// newNode makes a node and its configuration, and starts nothing. still is held for writing while no node may be disturbed.
func newNode(l *link, port int, logs string, still *sync.RWMutex, lines ...string) (*Node, error) {
	n := &Node{
		Name: l.name, Addr: fmt.Sprintf("%s:%d", l.ip, port), link: l, still: still,
		dir: filepath.Join(private, l.name), log: filepath.Join(logs, l.name+".log"),
	}
	lines = append([]string{
		fmt.Sprint("port ", port), "bind 0.0.0.0", "protected-mode no", "dir " + n.dir, `logfile ""`, "daemonize no",
	}, lines...)
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return nil, err
	}
	return n, os.WriteFile(n.conf(), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
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
	if n.clock != nil {
		cmd.Env = append(os.Environ(), n.clock.env()...)
	}
	if err := n.start(cmd, n.log, func(int) {}, func(int, string) {}); err != nil {
		return err
	}
	return n.await(ctx, "answer", func() bool {
		_, err := n.Do(ctx, "PING")
		return err == nil
	})
}

// Kill ends the server with SIGKILL, and waits for its end. One that does not run is left alone.
func (n *Node) Kill() {
	n.still.RLock()
	defer n.still.RUnlock()
	n.process.Kill()
}

// Freeze stops the server with SIGSTOP, until Thaw.
func (n *Node) Freeze() {
	n.still.RLock()
	defer n.still.RUnlock()
	n.process.Freeze()
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
func (n *Node) Do(ctx context.Context, args ...any) (any, error) { return n.ask(ctx, args...).Result() }

// ask sends a command over a connection of its own: a pool would remember for a second that the node was away.
func (n *Node) ask(ctx context.Context, args ...any) *redis.Cmd {
	client := redis.NewClient(&redis.Options{
		Addr: n.Addr, Protocol: 2, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true, PoolSize: 1,
		DialTimeout: doLimit, ReadTimeout: doLimit,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer client.Close()
	return client.Do(ctx, args...)
}

// info is a field of INFO, or of CLUSTER INFO; empty when the node does not answer.
func (n *Node) info(ctx context.Context, field string, command ...any) string {
	text, err := n.ask(ctx, command...).Text()
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
	n.process.Kill()
	if n.clock != nil {
		n.clock.close()
	}
}

// dropClients closes all connections that clients have.
func (n *Node) dropClients(ctx context.Context) error {
	_, err := n.Do(ctx, "CLIENT", "KILL", "TYPE", "normal")
	return err
}
