// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"
)

var statCalls = regexp.MustCompile(`cmdstat_[^:]+:calls=(\d+)`)

// sent is how many commands Redis has run, those of scripts too.
func (f *fleet) sent(t *testing.T) (n int64) {
	t.Helper()
	info, err := f.client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range statCalls.FindAllStringSubmatch(info, -1) {
		calls, _ := strconv.ParseInt(m[1], 10, 64)
		n += calls
	}
	return n
}

// TestAnIdleDaemonCostsTheSameInEveryFleet: what each of 20 daemons sends is what each of 5 does.
func TestAnIdleDaemonCostsTheSameInEveryFleet(t *testing.T) {
	t.Parallel()
	const window = 40 * time.Second
	perDaemon := func(n int) float64 {
		f, _ := setup(t)
		for i := range n {
			f.host(fmt.Sprint("host-", i))
		}
		time.Sleep(5 * time.Second) // all have begun
		before, began := f.sent(t), time.Now()
		time.Sleep(window)
		return float64(f.sent(t)-before) / float64(n) / time.Since(began).Seconds()
	}
	few := make(chan float64, 1)
	go func() { few <- perDaemon(5) }()
	many := perDaemon(20)
	if few := <-few; many > 1.5*few+0.2 || many > 3 {
		t.Errorf("each of 20 idle daemons sends %.2f commands a second, each of 5 %.2f", many, few)
	} else {
		t.Logf("each of 20 idle daemons sends %.2f commands a second, each of 5 %.2f", many, few)
	}
}
