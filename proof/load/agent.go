// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/picketd/picket/proof/history"
)

// Agent is the subcommand agent of the proof, which the load runs as processes of their own: work, command beneath picket exec, or scan
// beneath picket run. It returns the exit code.
func Agent(args []string) int {
	var s settings
	flags := flag.NewFlagSet("agent", flag.ExitOnError)
	flags.StringVar(&s.history, "history", "", "the history's `file`")
	flags.StringVar(&s.by, "by", "", "who writes")
	flags.StringVar(&s.host, "host", "", "the host's name")
	flags.Uint64Var(&s.seed, "seed", 0, "of all chance")
	flags.DurationVar(&s.ttl, "ttl", 0, "how long a lock lives")
	flags.Int64Var(&s.epoch, "epoch", 0, "when the load began, by CLOCK_BOOTTIME in nanoseconds")
	flags.IntVar(&s.workers, "workers", 1, "how many work at once")
	flags.BoolVar(&s.tells, "tells", false, "one more worker is a teller")
	flags.BoolVar(&s.child, "child", false, "a command that another has started")
	if len(args) == 0 || flags.Parse(args[1:]) != nil {
		fmt.Fprintln(os.Stderr, "usage: agent work|command|scan FLAG…")
		return 2
	}
	log, err := history.Open(s.history, s.by)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer log.Close()
	switch args[0] {
	case "work":
		s.work(log)
		return 0
	case "command":
		return s.command(log)
	case "scan":
		return s.scan(log)
	}
	fmt.Fprintln(os.Stderr, "no such agent:", args[0])
	return 2
}

// work goes on until TERM, and then ends what it has begun. Each ticket is told on standard output before it is first asked for.
func (s *settings) work(log *history.Log) {
	draining, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var mu sync.Mutex
	met := map[name]bool{}
	meets := func(n name) {
		mu.Lock()
		defer mu.Unlock()
		if !met[n] {
			met[n] = true
			fmt.Println(n.asset, n.task)
		}
	}
	var working sync.WaitGroup
	begin := func(n int, live func(*worker)) {
		by := fmt.Sprint(s.by, ".", n+1)
		w := &worker{
			caller:  newCaller(log, by, s.host, os.Getenv("PICKET_SOCKET")),
			watcher: newCaller(log, by+" watches", s.host, os.Getenv("PICKET_SOCKET")),
			job:     job{s.ttl, s.epoch, draining, meets},
			rand:    rand.New(rand.NewPCG(s.seed, uint64(n))),
			past:    map[name]int{},
		}
		working.Go(func() { live(w) })
	}
	for n := range s.workers {
		begin(n, (*worker).live)
	}
	if s.tells {
		begin(s.workers, (*worker).tell)
	}
	working.Wait()
}

// pid is the process that a claim is to hang on: this one, or one that soon ends.
func (w *worker) pid() int {
	long := w.ttl / 4 * time.Duration(1+w.rand.IntN(4))
	due := history.Now() + int64(long)
	sleep := exec.Command("sleep", fmt.Sprint(long.Seconds()))
	sleep.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if w.chance(50) || sleep.Start() != nil {
		return os.Getpid()
	}
	p := history.Process{PID: sleep.Process.Pid, Host: w.host, Kind: "agent", Detail: "sleep", Due: due}
	w.log.Write(history.Record{Process: &p})
	go func() {
		_ = sleep.Wait()
		ended := p
		ended.End = true
		w.log.Write(history.Record{Process: &ended})
	}()
	return p.PID
}
