// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package soak

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// The environment of make soak: how long it lasts, and where the samples go as CSV. A short round is among the tests.
const (
	lengthEnv  = "PICKET_SOAK"
	samplesEnv = "PICKET_SOAK_SAMPLES"
)

const (
	short    = 14 * time.Second
	giveBack = 33 * time.Second // in the first third of it a daemon gives memory back: two of its looks, and the time to do it
)

// length is how long a soak is to last.
func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(lengthEnv)
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < short {
		t.Fatalf("%s is %q: write a duration of %s or more", lengthEnv, text, short)
	}
	return d
}

// soak runs the work on three daemons of this build for so long, and returns the table of what was measured and which series grow.
func soak(t *testing.T, lasts time.Duration, changes ...change) (table string, grown []string) {
	t.Helper()
	rounds, life := 4, max(20*time.Second, lasts/15)
	if lasts >= 10*time.Minute {
		rounds = 8
	}
	picket := build(t, append(shorter(life), changes...))
	server := redistest.Start(t)
	w := newWork(t, life)
	for i := range 3 {
		w.daemons = append(w.daemons, newDaemon(t, picket, fmt.Sprintf("scan-0%d", i+1), server.SocketPath(), w.receiver.addr, life))
	}
	if err := w.start(t); err != nil {
		t.Fatal(err)
	}
	redis := server.Client()
	all := map[string]series{}
	measure := func(round int) sample {
		values := map[string]float64{}
		for _, d := range w.daemons[:2] {
			if err := d.measure(values); err != nil {
				t.Fatal(err)
			}
			for _, s := range ofDaemon {
				all[d.name+" "+s.name] = s
			}
		}
		if err := measureProcess(values, "ui", w.pages.Process.Pid); err != nil {
			t.Fatal(err)
		}
		for _, s := range ofDaemon[1:3] {
			all["ui "+s.name] = s
		}
		info, err := redis.Info(t.Context(), "memory", "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		values["redis memory"], values["redis clients"] = number(info, "used_memory:"), number(info, "connected_clients:")
		values["redis keys"] = float64(redis.DBSize(t.Context()).Val())
		for _, s := range ofRedis {
			all["redis "+s.name] = s
		}
		return sample{round, values}
	}
	each := lasts / time.Duration(rounds)
	rest := min(giveBack, each/2)
	var samples []sample
	for round := range rounds {
		w.round(t.Context(), t, each-rest)
		w.gate.Lock()
		for range 3 {
			time.Sleep(rest / 3)
			samples = append(samples, measure(round))
		}
		w.gate.Unlock()
		t.Logf("round %d of %d: %s", round+1, rounds, w)
	}
	w.stop(t)
	write(t, samples)
	return report(samples, all, rounds, lasts)
}

// number is what stands behind a name in Redis' INFO.
func number(info, name string) (n float64) {
	_, rest, _ := strings.Cut(info, "\n"+name)
	_, _ = fmt.Sscan(rest, &n)
	return n
}

// write keeps the samples, if that was asked for.
func write(t *testing.T, samples []sample) {
	t.Helper()
	path := os.Getenv(samplesEnv)
	if path == "" {
		return
	}
	var b strings.Builder
	var names []string
	for name := range samples[0].values {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(&b, "round,%s\n", strings.Join(names, ","))
	for _, one := range samples {
		fmt.Fprint(&b, one.round+1)
		for _, name := range names {
			fmt.Fprintf(&b, ",%.0f", one.values[name])
		}
		fmt.Fprintln(&b)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSoakIsFlat has steady work done for long, after which nothing may have grown.
func TestSoakIsFlat(t *testing.T) {
	table, grown := soak(t, length(t))
	t.Logf("at rest:\n%s", table)
	if len(grown) > 0 {
		t.Errorf("these grow: %s", strings.Join(grown, ", "))
	}
}

// leaks are built into the daemon, and seen in these series at least.
var leaks = []struct {
	name, seen string
	change     change
	from       time.Duration // a shorter soak does not look for it
}{
	{
		"a goroutine for each claim", "scan-01 goroutines",
		change{"engine/roster.go", "\tr.byID[c.id] = c\n", "\tr.byID[c.id] = c\n\tgo func() { select {} }()\n"},
		0,
	},
	{
		"a descriptor for each attempt to send", "scan-01 descriptors",
		change{"notifier/channel/post.go", "\tvar begun atomic.Bool\n", "\tvar begun atomic.Bool\n\tif l, err := net.Listen(\"tcp\", \"127.0.0.1:0\"); err == nil {\n\t\tgo l.Accept()\n\t}\n"},
		time.Minute,
	},
	{
		"64 KiB for each claim", "scan-01 heap",
		change{"engine/roster.go", "func (r *roster) add(c *claim) {\n", "var kept [][]byte\n\nfunc (r *roster) add(c *claim) {\n\tkept = append(kept, make([]byte, 64<<10))\n"},
		2 * time.Minute,
	},
	{
		"tickets without an end", "redis keys",
		change{"engine/store/lua/common.lua", "redis.call('PEXPIRE', key, KEEP + SLICE)", "redis.call('PERSIST', key)"},
		2 * time.Minute,
	},
}

// TestSoakSeesALeak has the same judgement find what is built in.
func TestSoakSeesALeak(t *testing.T) {
	lasts := min(length(t), 2*time.Minute)
	for _, leak := range leaks {
		if lasts < leak.from {
			continue
		}
		t.Run(leak.name, func(t *testing.T) {
			table, grown := soak(t, lasts, leak.change)
			t.Logf("at rest:\n%s", table)
			if !slices.Contains(grown, leak.seen) {
				t.Errorf("%s is built in, and only these grow: %q", leak.name, grown)
			}
		})
	}
}
