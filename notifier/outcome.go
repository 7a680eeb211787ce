// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"os"
	"regexp"
	"syscall"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/outbox"
)

// maxError bounds in bytes what is kept of an answer or a command's standard error.
const maxError = 512

// Result is what became of one attempt, as its sender knows it.
type Result struct {
	Status outbox.Status // Sent, Dead (refused for good), Pending (a known failure) or Unknown (it may have arrived)

	// Doubtful goes with Pending: whoever answered need not know whether it was accepted. An at_most_once channel is not
	// tried again then.
	Doubtful   bool
	Partly     bool          // some recipients have it, and the receiver takes more: it is not its failure
	RetryAfter time.Duration // as the receiver wished, or 0
	Error      string        // without secrets; when sent, empty or who did not get it
}

// answered decides what an HTTP status means.
func answered(reply reply, from string, now time.Time) Result {
	code := reply.code
	r := Result{Error: withDetail(fmt.Sprintf("HTTP %d from %s", code, from), reply.body)}
	switch {
	case code >= 200 && code < 300:
		return Result{Status: outbox.Sent}
	case code == 407, code == 408, code == 425, code == 429, code == 503:
		r.Status, r.RetryAfter = outbox.Pending, retryAfter(reply.header, now)
	case code == 409, code >= 500: // RFC 9110 section 15: what is above 599 counts as 5xx
		r.Status, r.RetryAfter, r.Doubtful = outbox.Pending, retryAfter(reply.header, now), true
	case code >= 300 && code < 400:
		r.Status = outbox.Dead
		r.Error = fmt.Sprintf("HTTP %d from %s: redirects are not followed; the channel's url must be the final one", code, from)
	default:
		r.Status = outbox.Dead
	}
	return r
}

// robotCodes says what the codes in a robot's answers mean. 0 is success.
type robotCodes struct {
	of   map[int]verdict
	dead *regexp.Regexp // what the message with a mendable code says when it is refused for good all the same; nil: nothing
	slow time.Duration  // how long to wait when told to slow down
}

// verdict is what a code means.
type verdict int

const (
	refused  verdict = iota + 1 // for good
	slowDown                    // not now, and nothing was done
	busy                        // not now, and whether it was done is not known
	mendable                    // nothing was done, for what a person or time mends: a clock, a secret, an address
)

// answered decides what a robot's answer means. Robots say in the body what went wrong, also with HTTP 200. A code that
// nothing is known of is tried again, because what is given up is lost; one with an HTTP status above 299 means what that says.
func (c *robotCodes) answered(r reply, from string, now time.Time) Result {
	var a struct {
		ErrCode    *int   `json:"errcode"`
		ErrMsg     string `json:"errmsg"`
		Code       *int   `json:"code"`
		Msg        string `json:"msg"`
		StatusCode *int   `json:"StatusCode"`
	}
	good := r.code >= 200 && r.code < 300
	err := json.Unmarshal(r.raw, &a)
	code := cmp.Or(a.ErrCode, a.Code, a.StatusCode)
	switch {
	case err != nil || code == nil:
		if good {
			return unanswered(true, withDetail(fmt.Sprintf("HTTP %d from %s without a robot's code", r.code, from), r.body))
		}
		return answered(r, from, now)
	case *code == 0:
		return answered(r, from, now)
	}
	said := cmp.Or(a.ErrMsg, a.Msg)
	result := Result{Error: withDetail(fmt.Sprintf("code %d from %s", *code, from), r.hide(said))}
	switch meaning := c.of[*code]; {
	case meaning == refused, meaning == mendable && c.dead != nil && c.dead.MatchString(said):
		result.Status = outbox.Dead
	case meaning == slowDown:
		result.Status, result.RetryAfter = outbox.Pending, max(retryAfter(r.header, now), c.slow)
	case meaning == mendable:
		result.Status, result.RetryAfter = outbox.Pending, retryAfter(r.header, now)
	case meaning == busy || good:
		result.Status, result.Doubtful = outbox.Pending, true
	default:
		return answered(r, from, now)
	}
	return result
}

// unanswered decides what the lack of an HTTP answer means: if nothing of the request went out, nothing can have arrived.
func unanswered(begun bool, reason string) Result {
	if begun {
		return Result{Status: outbox.Unknown, Error: reason}
	}
	return Result{Status: outbox.Pending, Error: reason}
}

// mailed decides what a failure to hand over a mail means: by the server's answer (RFC 5321 section 4.2.1), if there is one. Until
// all of a mail went out, no server delivers it. What a server says before it heard of the mail is about this host, or its login,
// which a person or time mends; so are some of the later answers.
func mailed(err error, stage mailStage, reason string) Result {
	switch code := smtpCode(err); {
	case code/100 == 5 && stage > greeted && !passes(err):
		return Result{Status: outbox.Dead, Error: reason}
	case code/100 == 4, code/100 == 5:
		return Result{Status: outbox.Pending, Error: reason}
	}
	return unanswered(stage == handedOver, reason)
}

// mailStage is how far an attempt came.
type mailStage int

const (
	greeted    mailStage = iota // connecting, greeting, logging in
	offered                     // naming who sends to whom, and giving the mail
	handedOver                  // all of the mail went out, its receipt is missing
)

// passing is what servers say with codes from 500 on of what is over some time later: a login that is wrong or demanded, a quota
// (5.4.5), too many mails or connections.
var passing = regexp.MustCompile(`(?i)^53[0-9] |\b5\.4\.5\b|frequency|rate.?limit|too (many|fast)|try (again|later)|quota|temporar|throttl`)

func passes(err error) bool {
	said, ok := errors.AsType[*textproto.Error](err)
	return ok && passing.MatchString(said.Error())
}

// tooMany is what servers say when a transaction has as many recipients as they take (RFC 5321 sections 4.5.3.1.10 and 4.2.3).
var tooMany = regexp.MustCompile(`(?i)^(452|552) |\b[45]\.5\.3\b|too many recipients|recipient (count|limit)`)

func crowded(err error) bool {
	said, ok := errors.AsType[*textproto.Error](err)
	return ok && tooMany.MatchString(said.Error())
}

// smtpCode is that of a mail server's answer, 0 if err is something else.
func smtpCode(err error) int {
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return said.Code
	}
	return 0
}

// The exit codes of sysexits.h that mean something here.
const (
	exitUsage    = 64
	exitData     = 65
	exitTempFail = 75
	exitNoPerm   = 77
	exitConfig   = 78
)

// exited decides what a command's end means. 64, 65, 77 and 78 are for good; 75 is "not now, and nothing was done"; after any
// other code something may have been done, so that only channels that bear a repetition try again.
func exited(p *os.ProcessState, said string) Result {
	status, _ := p.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return Result{Status: outbox.Unknown, Error: withDetail("the command was ended by signal "+status.Signal().String(), said)}
	}
	r := Result{Error: withDetail(fmt.Sprintf("the command ended with exit code %d", p.ExitCode()), said)}
	switch p.ExitCode() {
	case 0:
		return Result{Status: outbox.Sent}
	case exitUsage, exitData, exitNoPerm, exitConfig:
		r.Status = outbox.Dead
	case exitTempFail:
		r.Status = outbox.Pending
	default:
		r.Status, r.Doubtful = outbox.Pending, true
	}
	return r
}

func withDetail(what, detail string) string {
	if detail == "" {
		return what
	}
	return what + ": " + detail
}

// decide turns a sender's result into what is recorded, and when the channel is looked at next. It is the one place that
// knows of at_most_once, of give_up and of the backoff.
func (j *job) decide(r Result, number int, now time.Time) (status outbox.Status, text string, due time.Time) {
	end := j.in.At.Add(j.n.GiveUp)
	switch {
	case r.Status.Settled():
		return r.Status, r.Error, now.Add(tellFirst)
	case j.d.AtMostOnce && (r.Status == outbox.Unknown || r.Doubtful):
		return outbox.Unknown, r.Error, now
	case !now.Before(end):
		return outbox.Dead, fmt.Sprintf("given up, it was not accepted within %v: %s", j.n.GiveUp, r.Error), now.Add(tellFirst)
	}
	due = now.Add(max(again.Backoff(number, j.n.RetryFirst, j.n.RetryMax), r.RetryAfter))
	if due.After(end) {
		due = end // for a last time
	}
	return r.Status, r.Error, due
}
