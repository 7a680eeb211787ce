// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/picketd/picket/sockapi/client"
)

// startAnother starts a daemon beside the first, on the same Redis and with a state of its own; more is TOML.
func (h *host) startAnother(ctx context.Context, name, more string) (cmd *exec.Cmd, socket string, err error) {
	config, err := h.configure(name, more)
	if err != nil {
		return nil, "", err
	}
	socket = filepath.Join(h.dir, name+".sock")
	if cmd, err = h.start(ctx, picketBinary, "daemon", "--config", config); err != nil {
		return nil, "", err
	}
	return cmd, socket, await(ctx, "the daemon "+name, "unix", socket)
}

// passed is a daemon's socket that stays while the daemon does not: it is handed to each, as systemd does.
type passed struct {
	host   *host
	config string
	path   string
	file   *os.File
}

func (h *host) newPassed(name, more string) (*passed, error) {
	config, err := h.configure(name, more)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(h.dir, name+".passed")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	file, err := l.File()
	return &passed{h, config, path, file}, err
}

// start returns when the process runs, not when it is ready: until then calls wait in the socket's queue.
func (p *passed) start(ctx context.Context) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", picketBinary, "daemon", "--config", p.config)
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1")
	cmd.ExtraFiles = []*os.File{p.file}
	return cmd, p.host.launch(cmd, picketBinary)
}

// metric is one of a daemon's own figures, by its name and labels as they stand there.
func metric(ctx context.Context, socket, name string) (float64, error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://picket/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, errors.Join(fmt.Errorf("cannot read %s from the daemon's metrics", name), err)
}

// risky takes a ticket to where people are told, and returns the claim.
func risky(ctx context.Context, c *client.Client, asset string) (id string, err error) {
	r, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task, Heartbeat: "10m"})
	if err != nil {
		return "", err
	}
	for _, s := range []client.StepRequest{
		steps[0], steps[1], {Step: client.StepAssess, State: client.StateHighRiskFound, Facts: steps[3].Facts, Summary: "high risk"},
	} {
		if _, err := c.Step(ctx, r.Claim.ID, s); err != nil {
			return "", err
		}
	}
	return r.Claim.ID, nil
}
