// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/picketd/picket/proof/history"
)

// scan is a scanner of picket run: it leaves signs of life, finds something here and there, and fails now and then. Half take a moment,
// the others may take longer than a lock lives by itself, and some do not heed TERM. It returns the exit code.
func (s *settings) scan(log *history.Log) int {
	token, _ := strconv.ParseInt(os.Getenv("PICKET_TOKEN"), 10, 64)
	p := history.Process{
		PID: os.Getpid(), Host: s.host, Kind: "scanner", Asset: os.Getenv("PICKET_ASSET"), Task: os.Getenv("PICKET_TASK"), Token: token,
	}
	r := rand.New(rand.NewPCG(s.seed, uint64(token)))
	long := time.Duration(r.Int64N(int64(s.ttl / 4)))
	if r.IntN(2) == 0 {
		long = time.Duration(r.Int64N(int64(3 * s.ttl)))
	}
	if r.IntN(4) == 0 {
		signal.Ignore(syscall.SIGTERM)
	}
	for until := time.After(long); until != nil; {
		log.Write(history.Record{Process: &p})
		select {
		case <-until:
			until = nil
		case <-time.After(signEvery):
		}
	}
	p.End = true
	log.Write(history.Record{Process: &p})
	if r.IntN(12) == 0 {
		return 3
	}
	score := "5"
	if strings.HasSuffix(p.Asset, "3") || strings.HasSuffix(p.Asset, "7") {
		score = "9.8"
	}
	fmt.Printf(`{"findings": [{"id": "CVE-2026-1", "cvss": %s}]}`+"\n", score)
	return 0
}
