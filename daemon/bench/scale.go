// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// emptyFor is how long a Redis runs alone, whose own CPU is taken off.
const emptyFor = 5 * time.Second

// sizes is a flag: whole numbers with commas between them, growing.
type sizes []int

func (s *sizes) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*s)), " ", ","), "[]")
}

// Set is for package flag.
func (s *sizes) Set(text string) error {
	*s = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || len(*s) > 0 && n <= (*s)[len(*s)-1] {
			return fmt.Errorf("must be growing numbers with commas between them")
		}
		*s = append(*s, n)
	}
	return nil
}

// scale measures how the cost grows with daemons and with assets.
type scale struct {
	daemons, assets sizes
	settle, window  time.Duration
	picket          string
}

func newScale(args []string) (*scale, error) {
	s := &scale{daemons: sizes{5, 50, 500, 1000}, assets: sizes{10_000, 100_000, 1_000_000}}
	flags := flag.NewFlagSet(scaleArg, flag.ContinueOnError)
	flags.Var(&s.daemons, "daemons", "how many daemons")
	flags.Var(&s.assets, "assets", "how many assets a list has")
	flags.StringVar(&s.picket, "picket", picketBinary, "the command")
	flags.DurationVar(&s.settle, "settle", 40*time.Second, "for how long daemons run before they are measured: until each judges the others")
	flags.DurationVar(&s.window, "window", 30*time.Second, "for how long idle daemons are measured")
	return s, flags.Parse(args)
}

// run prints as it goes: the large sizes take minutes.
func (s *scale) run(ctx context.Context, w io.Writer) (err error) {
	defer catch(&err)
	h := s.newHost(ctx)
	h.stop()
	fmt.Fprintf(w, "%s\n\n", describeMachine(h.redisVersion))
	printGrowth(w, "daemons", s.daemons, s.fleets(ctx))
	fmt.Fprintln(w)
	printGrowth(w, "assets", s.assets, s.lists(ctx))
	return nil
}

// newHost has a Redis and no daemon.
func (s *scale) newHost(ctx context.Context) *host {
	h := must(newHost(s.picket))
	h.startRedis(ctx)
	return h
}

// fleets measures idle fleets, each on a Redis of its own.
func (s *scale) fleets(ctx context.Context) []growth {
	figures := []growth{
		{figure: "commands a second, all idle daemons", show: decimal, most: inAll},
		{figure: "… of each", show: decimal, most: each},
		{figure: "Redis' CPU, µs a second, all", show: count, most: inAll},
		{figure: "… of each", show: count, most: each},
		{figure: "bytes a second to and from Redis, all", show: count, most: inAll},
		{figure: "… of each", show: count, most: each},
		{figure: "memory of Redis, with connections, bytes, each", show: count, most: each},
		{figure: "connections to Redis, each", show: decimal, most: each},
		{figure: fmt.Sprintf("deliveries of a release, %d daemons wait for it", releaseWaiters), show: count, most: each},
	}
	return measured(ctx, figures, s.daemons, s.idle)
}

// lists measures lists whose assets are all done, each on a Redis of its own.
func (s *scale) lists(ctx context.Context) []growth {
	none := math.NaN()
	return measured(ctx, []growth{
		{figure: "memory of Redis for the tickets, bytes, all", show: count, most: inAll},
		{figure: "… of each", show: count, most: each},
		{figure: "Redis' time in scripts to make a ticket, µs", show: decimal, most: each},
		{figure: "Redis commands of one host that goes through the list, all", show: count, most: inAll},
		{figure: "… of each asset", show: decimal, most: each},
		{figure: fmt.Sprintf("those of %d hosts, beside one (measured up to %d assets)", listHosts, hostsMost), show: decimal, most: each},
		{figure: "memory of picket run at its peak, bytes, above that for one asset", show: count, most: inAll},
		{figure: "… of each asset, without its line in the list", show: count, most: none},
		{figure: fmt.Sprintf("list %d of the failed, ms (P17: at most 10)", failedPage), show: decimal, most: none},
		{figure: fmt.Sprintf("… on that page, where one in %d is failed", failedEvery), show: count, most: none},
	}, s.assets, s.list)
}

// measured fills in the figures of each size.
func measured(ctx context.Context, figures []growth, sizes []int, measure func(context.Context, int) []float64) []growth {
	for _, size := range sizes {
		for i, v := range measure(ctx, size) {
			figures[i].values = append(figures[i].values, v)
		}
	}
	return figures
}

// busy is Redis' CPU from one account to the next, in µs a second.
func busy(a, b account) float64 {
	return float64(b.cpu-a.cpu) / float64(time.Microsecond) / b.at.Sub(a.at).Seconds()
}

// idle is what so many idle daemons cost.
func (s *scale) idle(ctx context.Context, n int) []float64 {
	h, f := s.newHost(ctx), &fleet{}
	defer h.stop()
	defer f.stop()
	c := redis.NewClient(redisOptions(h.redisAddr))
	defer c.Close()
	begun := readAccount(ctx, c)
	pause(ctx, emptyFor)
	empty := readAccount(ctx, c)
	f.grow(h, n)
	pause(ctx, s.settle)
	before := readAccount(ctx, c)
	pause(ctx, s.window)
	after := readAccount(ctx, c)
	used, took, all := after.since(before), after.at.Sub(before.at).Seconds(), float64(n)
	calls, cpu, sent := used.calls/took, busy(before, after)-busy(begun, empty), used.bytes/took
	connections := float64(number(must(c.InfoMap(ctx, "clients").Result())["Clients"]["connected_clients"]) - 1)
	return []float64{
		calls, calls / all, cpu, cpu / all, sent, sent / all, after.since(empty).memory / all, connections / all, f.release(ctx),
	}
}
