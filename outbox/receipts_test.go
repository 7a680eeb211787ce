// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// deliver takes a fresh intent from its staging to its end.
func deliver(s *Store, in Intent) error {
	return errors.Join(
		s.Stage(in),
		s.Commit(in.Ref),
		s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: time.Now()}, time.Now(), false),
		s.Shut(in.Ref),
		s.Recorded(in.Ref, "ops"),
	)
}

func TestF20_AReceiptLivesAsLongAsItsTicket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	synctest.Test(t, func(t *testing.T) {
		const keep = 30 * 24 * time.Hour
		s := open(t, path, Options{KeepReceipt: keep})
		early, late := newIntent("web-01/w48"), newIntent("web-01/w49")
		if err := deliver(s, early); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keep / 2)
		if err := deliver(s, late); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keep/2 - time.Second)
		expect := func(want map[string]bool) {
			t.Helper()
			if err := s.Stage(newIntent("web-02/w48")); err != nil { // it prunes
				t.Fatal(err)
			}
			for ticket, want := range want {
				if _, ok, err := s.Receipt(ticket, 1, "ops"); err != nil || ok != want {
					t.Errorf("%v after the start the receipt of %s is there: %v, %v", keep, ticket, ok, err)
				}
			}
		}
		expect(map[string]bool{early.Ticket: true, late.Ticket: true})
		time.Sleep(2 * time.Second)
		expect(map[string]bool{early.Ticket: false, late.Ticket: true})
		time.Sleep(keep)
		expect(map[string]bool{early.Ticket: false, late.Ticket: false})
		if all, err := s.List(Closed, 10); err != nil || len(all) != 0 {
			t.Errorf("closed are %+v, %v", all, err)
		}
	})
}

func TestReceipts_AreBoundedInNumberTheOldestLeaveFirst(t *testing.T) {
	t.Parallel()
	const most = 20
	s := setup(t)
	s.most = most
	for i := range 3 * most {
		in := newIntent(fmt.Sprintf("host-%d/w48", i))
		if err := errors.Join(s.Adopt(in), s.Shut(in.Ref)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.List(Closed, 100)
	if err != nil || len(all) != most || all[0].Ticket != fmt.Sprintf("host-%d/w48", 2*most) {
		t.Errorf("there are %d, %v; the first is %+v", len(all), err, all[0].Ref)
	}
}
