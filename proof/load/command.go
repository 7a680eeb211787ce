// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/picketd/picket/proof/history"
)

// signEvery is the time between two signs of life of a command.
const signEvery = 50 * time.Millisecond

// command is what picket exec runs: it leaves signs of life, and makes calls under the claim. Some do not heed TERM, some are silent,
// and some start another that is not in their process group. It returns the exit code.
func (s *settings) command(log *history.Log) int {
	token, _ := strconv.ParseInt(os.Getenv("PICKET_TOKEN"), 10, 64)
	p := history.Process{
		PID: os.Getpid(), Host: s.host, Kind: "command", Asset: os.Getenv("PICKET_ASSET"), Task: os.Getenv("PICKET_TASK"), Token: token,
	}
	tell := func(detail string) {
		told := p
		told.Detail, told.End = detail, detail == "end"
		log.Write(history.Record{Process: &told})
	}
	tell("begin")
	r := rand.New(rand.NewPCG(s.seed, uint64(token)))
	if s.child || r.IntN(4) == 0 {
		signal.Ignore(syscall.SIGTERM)
	}
	if !s.child && r.IntN(5) == 0 {
		s.startChild()
	}
	until := time.After(s.ttl/2 + time.Duration(r.Int64N(int64(4*s.ttl))))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !s.child && r.IntN(4) > 0 {
			s.underClaim(newCaller(log, fmt.Sprintf("command %s/%d", s.host, p.PID), s.host, os.Getenv("PICKET_SOCKET")), r)
		}
		<-until
	}()
	for {
		select {
		case <-done:
			tell("end")
			return 0
		case <-time.After(signEvery):
			tell("sign")
		}
	}
}

// startChild starts a command like this one in a session of its own. Whoever ends this one has to end that one, too.
func (s *settings) startChild() {
	of := *s
	of.child = true
	child := exec.Command("/proc/self/exe", of.args("command")...)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if child.Start() == nil {
		go func() { _ = child.Wait() }()
	}
}

// underClaim records the first steps, each once, and now and then finishes.
func (s *settings) underClaim(c *caller, r *rand.Rand) {
	claim := "/v1/claims/" + os.Getenv("PICKET_CLAIM")
	calls := []sent{
		{"steps", body(map[string]any{"step": "online", "state": "ASSET_ONLINE"})},
		{"heartbeat", nil},
		{"steps", body(map[string]any{"step": "vuln", "state": "VULN_CHECK_DONE", "facts": map[string]any{"by": c.by}})},
		{"heartbeat", nil},
		{"finish", body(map[string]any{"summary": "done by " + c.by})},
	}
	for _, one := range calls[:1+r.IntN(len(calls))] {
		time.Sleep(s.ttl/10 + time.Duration(r.Int64N(int64(s.ttl/4))))
		if reply := c.call(context.Background(), http.MethodPost, claim+"/"+one.call, one.body, 0); reply.status >= 400 {
			return
		}
	}
}
