// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/sockapi/client"
)

const (
	emptyReport = "report.json"
	runAssets   = 4000
	runAtOnce   = 16
	runRounds   = 3
	assetMost   = 110 // µs of Redis
)

// runs is P16 and the second half of P20: picket run over assets whose scan costs nothing, beside the same calls in a bare loop.
func (h *host) runs(ctx context.Context) []row {
	_, socket := h.startAnother(ctx, "scanned", "")
	l := must(net.Listen("tcp", "0.0.0.0:0")) // every address of 127.0.0.0/8 is an asset that is online
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	store := redis.NewClient(redisOptions(h.redisAddr))
	defer store.Close()
	config := h.writeAgent(l.Addr().(*net.TCPAddr).Port)
	crew := make([]*client.Client, runAtOnce)
	for i := range crew {
		crew[i] = client.New(socket)
		defer crew[i].CloseIdleConnections()
	}
	var ofScripts []time.Duration
	addresses := 0
	list := func() []string {
		names := make([]string, runAssets)
		for i := range names {
			addresses++
			names[i] = fmt.Sprintf("127.%d.%d.%d", 1+addresses>>16, addresses>>8&255, addresses&255)
			check(os.Link(filepath.Join(h.dir, emptyReport), filepath.Join(h.dir, names[i]+".json")))
		}
		return names
	}
	c := alternate(runRounds, func() float64 {
		path := h.writeList(list())
		before, begun := readAccount(ctx, store), time.Now()
		cmd := must(h.start(ctx, h.picket, "run", "--config", config, "--assets", path, "--task", task, "--socket", socket, "--parallel", strconv.Itoa(runAtOnce)))
		if err := cmd.Wait(); err != nil {
			check(fmt.Errorf("picket run: %w", err))
		}
		took := time.Since(begun)
		ofScripts = append(ofScripts, readAccount(ctx, store).since(before).script/runAssets)
		return runAssets / took.Seconds()
	}, func() float64 {
		begun := time.Now()
		check(bareRun(ctx, crew, list()))
		return runAssets / time.Since(begun).Seconds()
	})
	asset := median(ofScripts)
	return []row{
		c.row("P16", fmt.Sprintf("picket run, %d assets, %d at once, a scan that costs nothing; floor: the same calls in a bare loop", runAssets, runAtOnce), 0.8),
		{
			id: "P20", figure: "the same: Redis' time in scripts for an asset", picket: microseconds(asset), target: fmt.Sprintf("≤ %d µs", assetMost),
			ok: asset.Microseconds() <= assetMost,
		},
	}
}

// writeAgent has assets asked on one port, and finds nothing on any.
func (h *host) writeAgent(port int) (config string) {
	check(os.WriteFile(filepath.Join(h.dir, emptyReport), []byte(`{"findings":[]}`), 0o600))
	config = filepath.Join(h.dir, "run.toml")
	text := fmt.Sprintf("[step.online]\ntcp = [%d]\n[step.vuln]\nfile = %q\nparse = \"findings\"\nmax_age = \"12h\"\n", port, filepath.Join(h.dir, "{{.Asset}}.json"))
	check(os.WriteFile(config, []byte(text), 0o600))
	return config
}

// bareRun does the calls that picket run does, with as much in them: the last step finishes.
func bareRun(ctx context.Context, crew []*client.Client, names []string) error {
	var next atomic.Int64
	work := make([]func() error, len(crew))
	for i, c := range crew {
		work[i] = func() error {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				if err := threeSteps(ctx, c, names[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return together(work)
}

func threeSteps(ctx context.Context, c *client.Client, asset string) error {
	r, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task, Heartbeat: "30s"})
	if err != nil {
		return err
	}
	last := steps[3]
	last.Finish = true
	for _, s := range []client.StepRequest{
		steps[0], {Step: client.StepVuln, State: client.StateVulnCheckDone, Facts: json.RawMessage(`{"findings":[]}`)}, last,
	} {
		if _, err := c.Step(ctx, r.Claim.ID, s); err != nil {
			return err
		}
	}
	return nil
}
