// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/picketd/picket/proof/history"
)

// never is the time of what did not come.
const never = math.MaxInt64

// The kinds of calls: what a call asks for, whatever its path looks like.
const (
	toClaim   = "claim"
	toStep    = "step"
	toFail    = "fail"
	toNotify  = "notify"
	toFinish  = "finish"
	toRelease = "release"
	toBeat    = "heartbeat"
	toWatch   = "watch"
	toRead    = "ticket"
	toHistory = "history"
	toStates  = "states"
	toReopen  = "reopen"
	toBreak   = "break"
	toRetry   = "retry"
	toDiscard = "discard"
	toSettle  = "settle"
	toOutbox  = "outbox"
	toOther   = "other"
)

// call is a call with its answer.
type call struct {
	n, m    int // the records of the call and of its answer; -1: there is none
	id      string
	host    string
	by      string
	pid     int
	kind    string
	sent    int64
	came    int64 // never, if there was no answer
	status  int   // of HTTP; 0: no answer
	code    string
	asset   string
	task    string
	claimID string
	token   int64 // of the claim; 0: it is not known
	waits   bool  // it may be answered with what became of the ticket later
	force   bool
	unsent  bool // there was no daemon to take it
	in      request
	names   []string // of its body's fields, in their order
	out     response
}

// ok: the call did what it asked for.
func (c *call) ok() bool { return c.status >= 200 && c.status < 300 }

// ends: is it a call by which a claim's holder ends it?
func (c *call) ends() bool {
	return c.kind == toRelease && !c.force || c.kind == toFinish || c.in.Finish
}

// unknown: nobody can tell whether it did anything.
func (c *call) unknown() bool {
	return c.status == 0 || c.status >= 500
}

func (c *call) ticket() string { return c.asset + "/" + c.task }

func (c *call) records() []int { return []int{c.n, c.m} }

// grant is a claim that somebody was told he has.
type grant struct {
	id, host, asset, task string
	token                 int64
	claimed               *call // the first answer that told of it; nil: picket exec was told, and began a command
	n                     int   // the record that told of it
	sent, came            int64 // when it was first asked for, and told
	calls                 []*call
	holder, pid           int   // the process that has it; the one that is watched, 0: none
	command               int   // what picket exec runs under it; 0: no command
	heartbeat, hold       int64 // ms; 0: none
}

func (g *grant) ticket() string { return g.asset + "/" + g.task }

type sending struct {
	history.Sending
	n  int
	at int64 // when it was over
}

type auditRecord struct {
	history.Audit
	n  int
	at int64
}

// token is that of the claim which a record is about.
func (a auditRecord) token() int64 {
	n, _ := strconv.ParseInt(a.Fields["PICKET_TOKEN"], 10, 64)
	return n
}

type process struct {
	history.Process
	n  int
	at int64
	by string
}

// story is a history put in order: calls with their answers, and what belongs to what.
type story struct {
	records   []history.Record
	setup     history.Setup
	calls     []*call
	grants    []*grant // in the order in which they were told of
	byClaim   map[string]*grant
	byAsset   map[string][]*grant
	histories map[string]*call // of each ticket the last one that was read
	faults    faults
	sendings  []sending
	audits    []auditRecord
	processes []process
	twice     []int // records whose ID another has
	unsent    int   // how many calls no daemon took: they are left out
	end       int64
}

func read(records []history.Record) *story {
	s := &story{records: records, byClaim: map[string]*grant{}, byAsset: map[string][]*grant{}}
	calls, open := map[string]*call{}, map[int]*fault{}
	for n, r := range records {
		s.end = max(s.end, r.At)
		switch {
		case r.Setup != nil:
			s.setup = *r.Setup
		case r.Call != nil:
			c := parse(r.Call)
			if calls[c.id] != nil {
				s.twice = append(s.twice, n)
			}
			c.n, c.by, c.sent = n, r.By, r.At
			calls[c.id] = c
			s.calls = append(s.calls, c)
		case r.Answer != nil && calls[r.Answer.ID] != nil:
			if calls[r.Answer.ID].m >= 0 {
				s.twice = append(s.twice, n)
			}
			calls[r.Answer.ID].answered(n, r)
		case r.Sending != nil:
			s.sendings = append(s.sendings, sending{*r.Sending, n, r.At})
		case r.Fault != nil:
			s.faults.note(open, n, r)
		case r.Audit != nil:
			s.audits = append(s.audits, auditRecord{*r.Audit, n, r.At})
		case r.Process != nil:
			s.processes = append(s.processes, process{*r.Process, n, r.At, r.By})
		}
	}
	all := len(s.calls)
	s.calls = slices.DeleteFunc(s.calls, func(c *call) bool { return c.unsent })
	s.unsent = all - len(s.calls)
	s.link()
	return s
}

func parse(h *history.Call) *call {
	c := &call{m: -1, id: h.ID, host: h.Host, pid: h.PID, came: never, kind: toOther}
	_ = json.Unmarshal(h.Body, &c.in) // what is no request is refused, and then there is nothing to know of it
	c.names = namesOf(h.Body)
	path, query, _ := strings.Cut(h.Path, "?")
	values, _ := url.ParseQuery(query)
	c.force = values.Get("force") == "true"
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(strings.TrimPrefix(path, "/v1"), "/"), "/") {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return c
		}
		parts = append(parts, plain)
	}
	c.route(h.Method, parts)
	c.waits = values.Has("wait")
	return c
}

// route says what a path asks for, and about what.
func (c *call) route(method string, parts []string) {
	writes := map[string]string{"steps": toStep, "failures": toFail, "notification": toNotify, "finish": toFinish, "heartbeat": toBeat}
	decides := map[string]string{"retry": toRetry, "discard": toDiscard, "settle": toSettle}
	is := func(m, first string, length int) bool {
		return method == m && parts[0] == first && len(parts) == length
	}
	switch {
	case is("POST", "claims", 1):
		c.kind, c.asset, c.task = toClaim, canonical(c.in.Asset), c.in.Task
	case is("POST", "claims", 3) && writes[parts[2]] != "":
		c.kind, c.claimID = writes[parts[2]], parts[1]
	case is("GET", "claims", 2):
		c.kind, c.claimID = toWatch, parts[1]
	case is("DELETE", "claims", 2):
		c.kind, c.claimID = toRelease, parts[1]
	case is("POST", "tickets", 2) && parts[1] == "states":
		c.kind = toStates
	case is("GET", "tickets", 3):
		c.kind, c.asset, c.task = toRead, canonical(parts[1]), parts[2]
	case is("GET", "tickets", 4) && parts[3] == "history":
		c.kind, c.asset, c.task = toHistory, canonical(parts[1]), parts[2]
	case is("POST", "tickets", 4) && parts[3] == "reopen":
		c.kind, c.asset, c.task = toReopen, canonical(parts[1]), parts[2]
	case is("POST", "locks", 3) && parts[2] == "break":
		c.kind, c.asset = toBreak, canonical(parts[1])
	case is("POST", "outbox", 4) && decides[parts[3]] != "":
		c.kind, c.asset, c.task = decides[parts[3]], canonical(parts[1]), parts[2]
	case method == "GET" && parts[0] == "outbox":
		c.kind = toOutbox
		if len(parts) == 3 {
			c.asset, c.task = canonical(parts[1]), parts[2]
		}
	}
}

// canonical is an asset as Picket names it: what looks like a host's name is in lower case, without a final dot.
func canonical(asset string) string {
	if strings.Contains(asset, ".") {
		return strings.ToLower(strings.TrimSuffix(asset, "."))
	}
	return asset
}

func (c *call) answered(n int, r history.Record) {
	c.m = n
	if c.status = r.Answer.Status; c.status == 0 {
		c.unsent = strings.Contains(r.Answer.Error, ": dial unix ")
		return
	}
	c.came = r.At
	_ = json.Unmarshal(r.Answer.Body, &c.out) // 204 has none
	if c.status >= 400 {
		c.code = c.out.Code
	}
}
