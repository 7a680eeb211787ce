// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// RunEmbeddedRedis serves an in-memory Redis on addr (host:port or unix:///path) behind password until ctx is done. It keeps
// nothing. It is meant for a process of its own, so that a frozen daemon does not freeze it.
func RunEmbeddedRedis(ctx context.Context, addr, password string) error {
	if password == "" {
		return errors.New("cannot serve the embedded Redis without a password: every user of this host could write to it")
	}
	network, address := "tcp", addr
	if path, ok := strings.CutPrefix(addr, "unix://"); ok {
		network, address = "unix", path
	}
	listener, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return fmt.Errorf("cannot serve the embedded Redis: %w", err)
	}
	defer listener.Close()

	store := miniredis.NewMiniRedis()
	store.RequireAuth(password)
	store.ClockTTL(true) // keys expire as time passes
	first, err := store.Dial()
	if err != nil {
		return fmt.Errorf("cannot start the embedded Redis: %w", err)
	}
	first.Close() // Dial is what starts it without a listener of its own
	defer store.Close()
	if err := store.Server().Register("CONFIG", answerConfig); err != nil {
		return fmt.Errorf("cannot start the embedded Redis: %w", err)
	}

	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil && err != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("cannot accept a connection to the embedded Redis: %w", err)
		}
		store.Server().ServeConn(conn)
	}
}

// answerConfig tells the one setting that a daemon demands: nothing is ever evicted. There is none about a disk, so that no
// daemon warns of what picket dev says anyway.
func answerConfig(c *server.Peer, _ string, args []string) {
	if len(args) != 2 || !strings.EqualFold(args[0], "get") {
		c.WriteError("ERR the embedded Redis takes CONFIG GET NAME only")
		return
	}
	if !strings.EqualFold(args[1], "maxmemory-policy") {
		c.WriteMapLen(0)
		return
	}
	c.WriteMapLen(1)
	c.WriteBulk(args[1])
	c.WriteBulk("noeviction")
}
