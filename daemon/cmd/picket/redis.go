// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// embeddedRedis is the in-memory Redis of picket dev, a process of its own, so that a frozen daemon does not freeze it. It
// lives as long as its standard input is open.
type embeddedRedis struct {
	input io.Closer
	ended <-chan struct{} // closes when the process has ended
}

// startEmbeddedRedis starts it and waits until it can be connected to.
func startEmbeddedRedis(addr, password string) (*embeddedRedis, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program: %w", err)
	}
	cmd := exec.Command(self, "embedded-redis", "--addr", addr)
	cmd.Args[0] = os.Args[0]
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the daemon, which still needs Redis to stop
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the embedded Redis: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the embedded Redis: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // what went wrong stands on standard error
	}()
	r := &embeddedRedis{input: input, ended: ended}
	if _, err := fmt.Fprintln(input, password); err != nil {
		r.stop()
		return nil, fmt.Errorf("cannot start the embedded Redis: %w", err)
	}
	if err := r.wait(addr); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *embeddedRedis) wait(addr string) error {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix://"); ok {
		network, addr = "unix", path
	}
	timeout := time.After(10 * time.Second)
	for {
		if conn, err := net.Dial(network, addr); err == nil {
			return conn.Close()
		}
		select {
		case <-r.ended:
			return errors.New("cannot start the embedded Redis: it ended at once")
		case <-timeout:
			return errors.New("cannot start the embedded Redis: it does not answer")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop ends the process and waits for its end.
func (r *embeddedRedis) stop() {
	_ = r.input.Close()
	<-r.ended
}
