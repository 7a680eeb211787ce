// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestAReportIsWholeWhenRedisFailsOverWhileItIsGathered: what could not be read meanwhile is read afterwards, and nothing counts as not
// scanned, new or fixed for it.
func TestAReportIsWholeWhenRedisFailsOverWhileItIsGathered(t *testing.T) {
	t.Parallel()
	set := redistest.StartStillSentinel(t)
	hook := startWebhook(t)
	h, err := startHostBy("scan-01", fmt.Sprintf("mode = \"sentinel\", master = %q, addrs = [\"%s\"]", set.MasterName, strings.Join(set.Addrs(), `", "`)), hook.channel())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.stop()
		if t.Failed() || h.crashed() {
			t.Errorf("it says: %s", &h.log)
		}
	})
	s := newScanners(t, saysOnline, findsRisk)
	s.configure(t, "[notification]\neach = \"none\"\n")
	list := writeList(t, s, "list", "web-01", "web-02", "web-03")
	s.start(t, h, "--assets", list, "--task", "n1", "--report", "nightly").wait(t, 0)
	reported(t, hook, "n1")

	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	over := make(chan struct{})
	var once sync.Once
	front := between(t, h, "/n2/reports/nightly", func(int64, *http.Response) error {
		if report, err := cl.Ticket(t.Context(), "list:nightly", "n2"); err != nil || report.Holder == nil {
			return nil // not gathered yet
		}
		once.Do(func() {
			wrote := set.Master.Client().Conn() // a connection is answered for what it wrote itself
			defer wrote.Close()
			eventually(t, "the replica has it all", func() bool {
				return wrote.Set(t.Context(), "probe", 1, 0).Err() == nil && wrote.Wait(t.Context(), 1, time.Second).Val() == 1
			})
			set.Master.Kill()
			go func() {
				defer close(over)
				time.Sleep(6 * time.Second) // longer than a call waits
				set.Failover()
			}()
		})
		return nil
	})
	s.start(t, front, "--assets", list, "--task", "n2", "--report", "nightly").wait(t, 0)
	select {
	case <-over:
	default:
		t.Error("the run ended before Redis had failed over")
		<-over
	}
	got := reported(t, hook, "n2")
	if c := got.Counts; c.Assets != 3 || c.HighRisk != 3 || c.New+c.Fixed+c.NotScanned != 0 || len(got.Notes) != 0 {
		t.Errorf("it says %+v, %q", c, got.Notes)
	}
}
