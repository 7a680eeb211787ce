// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// freePort returns a port that was free a moment ago, and whose port + 10000 (the Cluster bus) was free too. Both are below
// the kernel's ephemeral ports (32768 and up), so that no outgoing connection takes one while a server is being restarted.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 11000 + rand.IntN(11000)
		if isFree(port) && isFree(port+10000) {
			return port
		}
	}
	t.Fatal("cannot find a free port on loopback from 11000 to 22000")
	return 0
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// waitForPong returns when the server at the address answers PING, be it only to ask for a password.
func waitForPong(network, addr string, exited <-chan struct{}) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := ping(network, addr)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		}
		select {
		case <-exited:
			return errors.New("it ended at once")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func ping(network, addr string) error {
	c, err := net.DialTimeout(network, addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "+PONG") && !strings.HasPrefix(line, "-NOAUTH") {
		return fmt.Errorf("it answered %q", strings.TrimSpace(line))
	}
	return nil
}

// startTimeout is how long a redis-server may take to answer its first PING on a busy machine.
const startTimeout = time.Minute

// check ends the test that something is started for, unless it went well.
func check(t testing.TB, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
