// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

func TestEachActOfAnAdministratorLeavesARecord(t *testing.T) {
	t.Parallel()
	broken := func(kind string) func(*world) {
		return func(w *world) { w.admin("host-c", "POST", "/v1/locks/web/break", "breakLock", kind, func() {}) }
	}
	resolved := func(kind string) func(*world) {
		return func(w *world) { w.admin("host-c", "POST", "/v1/outbox/web/t1/retry", "retry", kind, func() {}) }
	}
	reopen := func(w *world) {
		w.token++
		reopened(w, finished)
	}
	force := func(kind string) func(*world) {
		return func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.ask("host-a", "DELETE", "/v1/claims/"+a+"?force=true", nil, func() (int, any) {
				w.audit("host-a", dict{"EVENT": kind, "CALL": "release", "TICKET": "web/t1", "TOKEN": w.token})
				return http.StatusNoContent, nil
			})
		}
	}
	judge(t, map[string]spoilt{
		"a lock is broken":               {play: broken("broken")},
		"and nothing tells of it":        {without: "audit of broken", play: broken("broken"), broken: "G12", says: "breakLock of web"},
		"and another kind does":          {play: broken("step"), broken: "G12", says: "of the kind step"},
		"sent again":                     {play: resolved("retried")},
		"and nothing tells that":         {without: "audit of retried", play: resolved("retried"), broken: "G12", says: "retry of web/t1"},
		"reopened, and nothing tells":    {without: "audit of reopened", play: reopen, broken: "G12", says: "reopen of web/t1"},
		"ended by force":                 {play: force("forced")},
		"and it is told as a release":    {play: force("released"), broken: "G12", says: "release by force"},
		"and it is told as a lost claim": {play: force("lost"), broken: "G12", says: "release by force"},
		"no answer, and a record of it": {play: func(w *world) {
			w.ask("host-c", "POST", "/v1/locks/web/break", nil, func() (int, any) { return 0, nil })
		}},
	})
}

func TestEachRefusalLeavesARecord(t *testing.T) {
	t.Parallel()
	bad := func(w *world) {
		w.ask("host-a", "POST", "/v1/claims", dict{"asset": ""}, func() (int, any) {
			w.refuse("host-a", "claim", "INVALID")
			return problem(http.StatusUnprocessableEntity, "INVALID", nil)
		})
	}
	// counted is a call of which no record of its own tells, and one that tells of it with others, so long after it.
	counted := func(more string, long time.Duration) func(*world) {
		return func(w *world) {
			w.audit("host-a", dict{"EVENT": "started"})
			w.without = "audit of refused"
			bad(w)
			w.seq["host-a"]--
			w.pass(long)
			w.audit("host-a", dict{"EVENT": "refusals", "CODE": "INVALID", "REASON": more})
		}
	}
	const excused = "G12: more of a user's refused calls than are recorded one by one"
	judge(t, map[string]spoilt{
		"by the API":              {play: bad},
		"and nothing tells of it": {without: "audit of refused", play: func(w *world) { bad(w); w.seq["host-a"] = 0 }, broken: "G12", says: "refused with INVALID"},
		"told with others":        {play: counted("1 more within 1m0s", 40*time.Second), excused: excused},
		"told of another minute":  {play: counted("1 more within 1m0s", 70*time.Second), broken: "G12", says: "refused with INVALID"},
		"when there were not as many": {play: func(w *world) {
			counted("1 more within 1m0s", time.Second)(w)
			w.seq["host-a"]--
			w.records = w.records[:len(w.records)-1]
			bad(w)
			w.audit("host-a", dict{"EVENT": "refusals", "CODE": "INVALID", "REASON": "1 more within 1m0s"})
		}, broken: "G12"},
	})
}

func TestEachLossThatIsToldIsInTheAudit(t *testing.T) {
	t.Parallel()
	lost := func(before func(w *world, claim string), reason string) func(*world) {
		return func(w *world) {
			a := w.claim("host-a", "web", "t1")
			w.pass(ttl * 1e6)
			before(w, a)
			if reason != "" {
				w.lose(a, reason)
			}
			w.watch(a, "lost", "expired")
		}
	}
	none := func(*world, string) {}
	judge(t, map[string]spoilt{
		"it is":                    {play: lost(none, "expired")},
		"it is not":                {play: lost(none, ""), broken: "G12", says: "the loss of token"},
		"only the next claim says": {play: lost(none, "expired: found by the next claim"), broken: "G12", says: "the loss of token"},
		"its end was under way": {play: lost(func(w *world, a string) {
			w.ask("host-a", "DELETE", "/v1/claims/"+a, nil, func() (int, any) { return 0, nil })
		}, "")},
		"the daemon was killed": {
			play:    lost(func(w *world, _ string) { w.fault("daemon is killed", "host-a", false, false, func() {}) }, ""),
			excused: "G12: the daemon was killed with the record in its queue",
		},
	})
}

func TestEachAttemptLeavesTwoRecords(t *testing.T) {
	t.Parallel()
	sent := func(w *world) { told(w); w.sent("host-b", "ops", 0, 500); both(w) }
	struck := func(name, target string, loses bool, long time.Duration) func(*world) {
		return func(w *world) {
			told(w)
			w.fault(name, target, loses, false, func() { w.pass(long) })
			both(w)
			w.drop("attempt")
			w.drop("attempt")
		}
	}
	judge(t, map[string]spoilt{
		"all":                       {play: sent},
		"none when it begins":       {play: func(w *world) { sent(w); w.drop("attempt") }, broken: "G12", says: "without a record of the attempt"},
		"none of what became of it": {play: func(w *world) { sent(w); w.drop("undelivered") }, broken: "G12", says: "1 records of what became of it"},
		"none of one that arrived":  {play: func(w *world) { sent(w); w.drop("receipt") }, broken: "G12", says: "records of what became of it"},
		"nobody could be asked":     {play: struck("host is cut off", "host-b", false, 5*time.Second), excused: "G12: Redis was away, and nobody was asked before it was sent"},
		"somebody could":            {play: struck("host is cut off", "host-b", false, time.Second), broken: "G12", says: "without a record of the attempt"},
		"another could not":         {play: struck("host is cut off", "host-c", false, 5*time.Second), broken: "G12", says: "without a record of the attempt"},
		"of what Redis lost":        {play: struck("flush", "", true, 0), excused: "G12: Redis lost the ticket, and nobody was asked before it was sent"},
		"its daemon ends meanwhile": {play: func(w *world) {
			sent(w)
			w.drop("undelivered")
			w.fault("daemon is stopped", "host-b", false, false, func() {})
		}},
	})
}

func TestOnlyACrashLosesRecords(t *testing.T) {
	t.Parallel()
	ends := func(fault, how string, last func(*world)) func(*world) {
		return func(w *world) {
			p := history.Process{PID: 7, Host: "host-b", Kind: "daemon"}
			w.add("stage", history.Record{Process: &p})
			w.release("host-b", w.claim("host-b", "db", "t1"))
			asked := w.at
			last(w)
			w.fault(fault, "host-b", false, false, func() {
				over := p
				over.End, over.Detail, over.Due = true, how, asked
				w.add("stage", history.Record{Process: &over})
			})
		}
	}
	drop := func(w *world) { w.drop("released") }
	stop := func(w *world) { w.audit("host-b", dict{"EVENT": "stopped"}) }
	judge(t, map[string]spoilt{
		"it is stopped":              {play: ends("daemon is stopped", "exit status 0", stop)},
		"without its last record":    {play: ends("daemon is stopped", "exit status 0", func(*world) {}), broken: "G12", says: "stopped in order"},
		"with no time left":          {play: ends("daemon is stopped", "exit status 0", func(w *world) { w.pass(2 * time.Second) }), excused: "G12: the daemon had no time left when it stopped"},
		"with records in its queue":  {play: ends("daemon is stopped", "exit status 0", drop), broken: "G12", says: "0 records in the audit"},
		"it is killed":               {play: ends("daemon is killed", "signal: killed", func(*world) {})},
		"with records in its queue,": {play: ends("daemon is killed", "signal: killed", drop), excused: "G12: the daemon was killed with the record in its queue"},
	})
}

func TestScannersStopBeforeAnotherHasTheAsset(t *testing.T) {
	t.Parallel()
	sign := func(w *world, host string, token int64) {
		p := history.Process{PID: int(token), Host: host, Kind: "scanner", Asset: "run-1", Task: "r1", Token: token}
		w.add("scanner "+host, history.Record{Process: &p})
	}
	granted := func(w *world, host string, token int64) {
		w.audit(host, dict{"EVENT": "claimed", "ASSET": "run-1", "TICKET": "run-1/r1", "TOKEN": token})
	}
	at := func(meanwhile, taken func(*world)) func(*world) {
		return func(w *world) {
			granted(w, "host-a", 10)
			sign(w, "host-a", 10)
			meanwhile(w)
			taken(w)
			w.pass(time.Second)
			sign(w, "host-a", 10)
		}
	}
	none := func(*world) {}
	audited := func(w *world) { granted(w, "host-b", 20) }
	signed := func(w *world) { sign(w, "host-b", 20) }
	fault := func(name, target string, loses, steps bool) func(*world) {
		return func(w *world) { w.fault(name, target, loses, steps, func() {}) }
	}
	judge(t, map[string]spoilt{
		"nobody has it":             {play: at(none, none)},
		"another was granted it":    {play: at(none, audited), broken: "G8", says: "after token 20 was granted on host-b"},
		"another scans it":          {play: at(none, signed), broken: "G8", says: "after token 20 was granted on host-b"},
		"the other one is older":    {play: at(none, func(w *world) { granted(w, "host-b", 5) })},
		"picket run is frozen":      {play: at(fault("run freezes", "run host-a", false, false), audited), excused: "G8: picket run itself was killed or frozen"},
		"another's is":              {play: at(fault("run freezes", "run host-b", false, false), audited), broken: "G8"},
		"Redis lost data":           {play: at(fault("flush", "", true, false), audited), excused: "G8: Redis lost data"},
		"the clock of Redis is set": {play: at(fault("clock is set back", "redis-1", false, true), audited), excused: "G8: the clock of a Redis was set"},
		"the lock is broken": {play: at(func(w *world) {
			w.admin("host-c", "POST", "/v1/locks/run-1/break", "breakLock", "broken", func() {})
		}, audited), excused: "G8: an administrator took it from its holder"},
	})
}

func TestWhatReplicasHaveOutlivesAFailover(t *testing.T) {
	t.Parallel()
	loses := func(w *world, keeps bool) {
		w.faults++
		f := history.Fault{ID: w.faults, Name: "failover", Loses: true, Keeps: keeps}
		w.add("nemesis", history.Record{Fault: &f})
		over := f
		over.End = true
		w.add("nemesis", history.Record{Fault: &over})
	}
	// failover is a history whose ticket has these events afterwards.
	failover := func(keeps bool, events ...string) func(*world) {
		return func(w *world) {
			told(w)
			both(w)
			loses(w, keeps)
			all := []event{}
			for i, kind := range events {
				all = append(all, event{Seq: int64(i + 1), Event: kind, Token: w.token, To: initial})
			}
			w.ask("host-b", "GET", "/v1/tickets/web/t1/history", nil, func() (int, any) { return http.StatusOK, dict{"events": all} })
		}
	}
	judge(t, map[string]spoilt{
		"nothing is lost": {play: func(w *world) {
			w.claim("host-b", "web", "t1")
			loses(w, true)
			one := []event{{Seq: 1, Event: "claimed", Token: w.token, To: initial}}
			w.ask("host-b", "GET", "/v1/tickets/web/t1/history", nil, func() (int, any) { return http.StatusOK, dict{"events": one} })
		}},
		"a grant is":                        {play: failover(true), broken: "G2", says: "a failover has lost it"},
		"what was accepted is":              {play: failover(true, "claimed"), broken: "G9", says: "a failover has lost what was accepted"},
		"what replicas were not waited for": {play: failover(false)},
		"other words, and nothing was lost": {play: func(w *world) { told(w); loses(w, true); w.sent("host-b", "ops", 0, 500).Digest = "other"; both(w) }, broken: "G9", says: "other bytes"},
	})
}
