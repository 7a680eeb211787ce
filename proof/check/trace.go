// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"fmt"
	"slices"
	"strconv"
)

// trace is by what a write is found in the audit. What the API refuses before it is known what it is about has no more than its caller.
type trace struct {
	host, call, ticket, code string
	token                    int64
	pid                      int
}

func (t trace) String() string {
	text := t.call + " on " + t.host
	switch {
	case t.pid > 0:
		text = fmt.Sprintf("%s by pid %d", text, t.pid)
	case t.token > 0:
		text = fmt.Sprintf("%s of token %d on %s by %s", t.call, t.token, t.ticket, t.host)
	case t.ticket != "":
		text = fmt.Sprintf("%s of %s by %s", t.call, t.ticket, t.host)
	}
	if t.code != "" {
		text += ", refused with " + t.code
	}
	return text
}

// open is by what calls are counted that may have left the same record, and got no answer.
func (t trace) open() trace {
	t.code = ""
	return t
}

// inAudit are the names of calls as the audit has them. An administrator's release is told apart here.
var inAudit = map[string]string{
	toClaim: "claim", toStep: "step", toFail: "fail", toNotify: "notify", toFinish: "finish", toRelease: "release",
	toReopen: "reopen", toBreak: "breakLock", toRetry: "retry", toDiscard: "discard", toSettle: "settle",
}

const byForce = "release by force"

// kinds are the kinds of records that an accepted call leaves. (docs/audit.md)
var kinds = map[string][]string{
	"claim": {"claimed", "replayed"}, "step": {"step", "replayed", "finished"}, "fail": {"failure", "failed", "replayed"},
	"notify": {"notifying", "replayed"}, "finish": {"finished", "released", "replayed"}, "release": {"released", "replayed"}, byForce: {"forced"},
	"reopen": {"reopened"}, "breakLock": {"broken"}, "retry": {"retried"}, "discard": {"discarded"}, "settle": {"settled"},
}

// ofClaims are the codes of refusals whose record names the claim, as Redis or the engine had to know it.
var ofClaims = append([]string{"CLAIM_LOST"}, decided...)

// damaged: what was written may have been lost before it was read for the answer.
func (c *call) damaged() bool { return c.code == "TICKET_DAMAGED" }

// refusal is by what a refusal of the call is found of which no more is known than who called.
func (c *call) refusal(code string) trace {
	t := trace{host: c.host, call: inAudit[c.kind], code: code, pid: c.pid}
	if c.force {
		t.call = byForce
	}
	return t
}

// traceOf is by what a call is found in the audit; not, if it leaves no record, or it is not known which.
func (s *story) traceOf(one *call) (trace, bool) {
	t := one.refusal("")
	done := one.ok() || one.unknown() || one.damaged()
	switch {
	case t.call == "" || one.kind == toClaim && one.ok() && one.out.Claim == nil:
		return trace{}, false
	case !done && !(one.claimID != "" && slices.Contains(ofClaims, one.code)):
		return one.refusal(one.code), true
	case one.kind == toBreak:
		return trace{host: one.host, call: t.call, ticket: one.asset}, true
	case one.claimID == "" && (one.kind != toClaim || one.unknown()):
		return trace{host: one.host, call: t.call, ticket: one.ticket()}, true
	case one.token == 0:
		return trace{}, false
	case done:
		return trace{host: one.host, call: t.call, ticket: one.ticket(), token: one.token}, true
	}
	return trace{host: one.host, call: t.call, ticket: one.ticket(), code: one.code, token: one.token}, true
}

// trace is by what the record of a call is found; not, if it is not of a call, or does not say what came of it.
func (a auditRecord) trace() (trace, bool) {
	f := a.Fields
	t := trace{host: a.Host, call: f["PICKET_CALL"], ticket: f["PICKET_TICKET"]}
	token := a.token()
	switch event := f["PICKET_EVENT"]; {
	case kinds[t.call] == nil || event == "unconfirmed" || event == "lost":
		return trace{}, false
	case event == "refused" && token > 0 && slices.Contains(ofClaims, f["PICKET_CODE"]):
		t.code, t.token = f["PICKET_CODE"], token
	case event == "refused":
		pid, _ := strconv.Atoi(f["PICKET_AGENT_PID"])
		t = trace{host: a.Host, call: t.call, code: f["PICKET_CODE"], pid: pid}
	case event == "forced":
		t.call, t.token = byForce, token
	case t.call == "breakLock":
		t.ticket = f["PICKET_ASSET"]
	case !slices.Contains([]string{"reopen", "retry", "discard", "settle"}, t.call):
		t.token = token
	}
	return t, true
}
