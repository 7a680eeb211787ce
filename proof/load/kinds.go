// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/stage"
)

const (
	execAssets = 2               // how many there are of exec-N
	execFor    = 8 * time.Second // how long a task of these is worked on
	runAssets  = 10              // how many there are of run-N
)

//go:embed run.toml
var runConfig string

// agent runs one agent after another until the work drains.
func (l *Load) agent(ctx context.Context, h *stage.Host, p *Process, tells bool, r *rand.Rand) {
	met := func(line string) {
		asset, task, _ := strings.Cut(line, " ")
		l.meet(name{asset, task})
	}
	for pause(l.draining, r, time.Second) && !h.Lost() {
		s := l.settings(p.Name, h, r)
		s.workers, s.tells = workers, tells
		if _, ok := l.start(ctx, l.draining, h, p, history.Process{}, met, l.self, s.args("work")...); !ok {
			return
		}
	}
}

// exec runs one picket exec after another until the work drains.
func (l *Load) exec(ctx context.Context, h *stage.Host, p *Process, r *rand.Rand) {
	for pause(l.draining, r, 3*time.Second) && !h.Lost() {
		n := name{fmt.Sprint("exec-", r.IntN(execAssets)), fmt.Sprint("e", (history.Now()-l.epoch)/int64(execFor))}
		l.meet(n)
		args := []string{"exec", "--wait", (2 * l.TTL).String(), "--max-hold", (5 * l.TTL).String()}
		if r.IntN(2) == 0 {
			args = append(args, "--heartbeat", max(l.TTL/2, time.Second).String())
		}
		s := l.settings("command "+h.Name, h, r)
		args = append(append(args, n.asset, n.task, "--", l.self), s.args("command")...)
		if _, ok := l.start(ctx, ctx, h, p, history.Process{Asset: n.asset, Task: n.task}, nil, l.Picket, args...); !ok {
			return
		}
	}
}

// run goes through one list after another. What was begun is done when the work drains: until picket run says that nothing is left.
func (l *Load) run(ctx context.Context, h *stage.Host, p *Process, r *rand.Rand) {
	config, list := filepath.Join(h.Dir, "run.toml"), filepath.Join(h.Dir, "run.list")
	var assets []string
	for n := range runAssets {
		assets = append(assets, fmt.Sprint("run-", n))
	}
	r.Shuffle(len(assets), func(i, j int) { assets[i], assets[j] = assets[j], assets[i] })
	var scanner []string
	for _, arg := range append([]string{l.self}, l.settings("scanner "+h.Name, h, r).args("scan")...) {
		scanner = append(scanner, fmt.Sprintf("%q", arg))
	}
	steps := strings.Replace(runConfig, "SCANNER", strings.Join(scanner, ", "), 1)
	for file, content := range map[string][]byte{config: []byte(steps), list: []byte(strings.Join(assets, "\n") + "\n")} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			l.fail(err)
			return
		}
	}
	for task := 0; l.draining.Err() == nil; task++ {
		for _, asset := range assets {
			l.meet(name{asset, fmt.Sprint("r", task)})
		}
		for code := -1; code != 0 && code != 1; {
			if !pause(ctx, r, time.Second) || h.Lost() {
				return
			}
			var ok bool
			if code, ok = l.start(ctx, ctx, h, p, history.Process{Task: fmt.Sprint("r", task)}, nil, l.Picket, "run", "--config", config, "--assets", list,
				"--task", fmt.Sprint("r", task), "--parallel", "2", "--heartbeat", max(2*l.TTL, time.Second).String(), "--give-up", "20s", "--again", "--json"); !ok {
				return
			}
		}
	}
}

func (l *Load) settings(by string, h *stage.Host, r *rand.Rand) *settings {
	return &settings{history: l.Log.Path(), by: by, host: h.Name, seed: r.Uint64(), ttl: l.TTL, epoch: l.epoch}
}

// start runs a program on a host and waits for its end. Its errors, and what it prints where no line is wanted, go to a file in the
// host's folder. What could not be started is a failure of the load.
func (l *Load) start(ctx, gently context.Context, h *stage.Host, p *Process, about history.Process, line func(string), program string, args ...string) (int, bool) {
	file := filepath.Join(h.Dir, strings.NewReplacer(" ", "-", "/", "-").Replace(p.Name)+".log")
	output, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		l.fail(err)
		return 0, false
	}
	defer output.Close()
	about.Host, about.Kind = h.Name, p.Kind
	cmd := h.Command(program, args...)
	cmd.Stderr = output
	if line == nil {
		cmd.Stdout = output
	}
	code, err := p.run(ctx, gently, l.Log.As(p.Name), about, cmd, line)
	if err != nil {
		l.fail(err)
	}
	return code, err == nil
}

// pause waits for up to most, and reports whether to go on.
func pause(ctx context.Context, r *rand.Rand, most time.Duration) bool {
	select {
	case <-time.After(time.Duration(r.Int64N(int64(most)))):
		return true
	case <-ctx.Done():
		return false
	}
}
