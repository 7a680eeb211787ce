// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
	"time"
)

const (
	// beyond is for how long an attempt is nobody else's after its channel's time-out. (DESIGN, section 6)
	beyond = int64(10 * time.Second)
	// away is for how long Redis has answered nothing when a daemon sends without asking; less, as answers may be under way when a
	// fault begins. (outbox/doc.go)
	away = int64(4 * time.Second)
	// asking is until when such a sending begins, counted from the question that got no answer. (outbox/doc.go)
	asking = int64(12 * time.Second)
	// unasked is likewise, counted from when somebody else decided against it. (outbox/doc.go)
	unasked = int64(17 * time.Second)
	// round is how long a daemon's look at what it has to send may lie back: every 2 s, and what it takes. (outbox/doc.go)
	round = int64(5 * time.Second)
	// begun is how long it may take from the question whether it may be sent to the first bytes at the receiver, without a fault.
	begun = int64(stall)
)

// exception is a window that the documents leave open for a second sending: what the key is for.
type exception struct {
	why     string
	once    bool // on a channel that is at_most_once, too
	decided bool // also of a sending that comes after an administrator's decision; a is that decision then
	is      func(s *story, k key, a, b sending) bool
}

// windows are all of them. Nothing else is let pass.
var windows = []exception{
	{"a person had it sent again", true, true, (*story).retried},
	{"its sender ended between send and record", false, false, (*story).endedBetween},
	{"its sender was held up for longer than its lease", false, false, (*story).leaseRanOut},
	{"the clock of a Redis was set forward, which ended its lease", false, false, (*story).leaseWasEnded},
	{"it was answered when its sender had given up", false, false, (*story).answeredLate},
	{"its sender could not see the answer in time", false, false, (*story).answerUnseen},
	{"Redis was away, and nobody could be asked", false, true, (*story).nobodyAsked},
	{"it was begun before it was decided about", false, true, (*story).begunBefore},
	{"Redis lost data with two holders of the intent", false, true, (*story).lostBoth},
	{"Redis lost a second intent together with its attempt", true, false, (*story).lostSecond},
	{"Redis lost it, and another host accepted it anew", true, false, (*story).acceptedAnew},
}

// retried: "A retry is a person's word, and is sent." (outbox/doc.go)
func (s *story) retried(k key, a, b sending) bool {
	return s.decided(k, b.Channel, a.Begin, b.Begin, toRetry)
}

// endedBetween: "sent, before the outcome in the outbox: sent again with the same key and body" (outbox/doc.go, C9, C10)
func (s *story) endedBetween(_ key, a, b sending) bool {
	return s.faults.crashed(a.Host, a.Begin, min(s.over(a)+int64(stall), b.Begin))
}

// leaseRanOut: "a freeze or a cut from Redis longer than the attempt's lease, between send and record" (DESIGN, G10)
func (s *story) leaseRanOut(_ key, a, b sending) bool {
	return !knew(a, b) && b.Begin-a.Begin >= beyond && s.unrecorded(a, b.Begin-repeated)
}

// leaseWasEnded: "The lease is the channel's time-out + 10 s, in Redis' time" (DESIGN, section 6). On an at_most_once channel what it leaves is
// parked, and not sent.
func (s *story) leaseWasEnded(_ key, a, b sending) bool {
	leap := s.faults.leap(a.Begin-begun, b.Begin)
	return leap > 0 && a.Host != b.Host && b.Begin-a.Begin+leap+begun >= s.timeout(a.Channel)+beyond && s.unrecorded(a, b.Begin)
}

// unrecorded: may the ticket not have been told until a time what became of a sending?
func (s *story) unrecorded(a sending, at int64) bool {
	return s.faults.cover(s.over(a), at, func(f *fault) bool { return f.hinders(a.Host) })
}

// answeredLate: what is answered as the channel's time-out is reached may be known or not. That counts from when the request was made, in whole
// seconds, which may be long before it comes to the receiver.
func (s *story) answeredLate(_ key, a, _ sending) bool {
	begin := a.Begin
	if ahead, known := s.ahead(); known {
		begin = min(begin, a.Stamp*int64(time.Second)-ahead)
	}
	return arrived(a) && a.at-begin > s.timeout(a.Channel)-int64(500*time.Millisecond)
}

// answerUnseen: "none in time: it tries again with the same key" (docs/receiving.md). It was given, and did not come, or not in time.
func (s *story) answerUnseen(_ key, a, b sending) bool {
	return a.Host == b.Host && slices.ContainsFunc(s.faults, func(f *fault) bool {
		late := strings.HasPrefix(f.name, "daemon") || strings.Contains(f.name, "receivers") || f.name == "link of a host is slow"
		return late && f.target == a.Host && f.within(a.Begin-s.timeout(a.Channel), a.at+int64(stall)) // it may have been long on its way
	})
}

// knew: was its sender told that it arrived? Then it has a receipt, whatever Redis has. (outbox/doc.go)
func knew(a, b sending) bool { return a.Host == b.Host && arrived(a) }

// nobodyAsked: "While Redis is away nobody can be asked, so only that is sent which nobody can have taken over", and "nothing begins 17 s
// after somebody else decided against it" (outbox/doc.go). What was sent so comes to the ticket when Redis is back.
func (s *story) nobodyAsked(_ key, a, b sending) bool {
	switch {
	case knew(a, b):
		return false
	case b.Begin-s.over(a) <= unasked && s.faults.unanswered(b.Host, b.Begin):
		return true
	}
	return a.Host != b.Host && s.faults.unanswered(a.Host, a.Begin) && s.unrecorded(a, b.Begin-repeated)
}

// begunBefore: an attempt that was taken before the decision begins within its lease, if something held its sender up. (outbox/doc.go)
func (s *story) begunBefore(_ key, a, b sending) bool {
	return a.Status == 0 && b.Begin-a.at <= s.timeout(b.Channel)+beyond &&
		s.faults.cover(a.at, b.Begin, func(f *fault) bool { return f.delays(b.Host) })
}

// lostBoth: "lost data with two holders of the intent" (DESIGN, G10). Of a loss before the first sending there are two that may send at once;
// when the ticket knows what became of that one, nobody does.
func (s *story) lostBoth(_ key, a, b sending) bool {
	return !knew(a, b) && (s.faults.lost(a.Begin, b.Begin) || s.faults.lost(0, a.Begin) && s.unrecorded(a, b.Begin))
}

// lostSecond: "What a round cannot see is a repeated notify, or a retry, on another host that sent since the last round and that Redis
// lost together with the intent." (outbox/doc.go) A daemon that is held up makes no rounds.
func (s *story) lostSecond(_ key, a, b sending) bool {
	return a.Host != b.Host && slices.ContainsFunc(s.faults, func(f *fault) bool {
		return f.loses && !f.keeps && f.within(a.Begin-round, b.Begin) && (f.begin <= a.at+round || s.faults.without(f).struck(b.Host, f.begin-round, f.end))
	})
}

// acceptedAnew: "notifications of then are told or sent again under the same key, the work since is done again" (docs/redis.md). Of the calls of
// picket run only the audit tells.
func (s *story) acceptedAnew(k key, a, b sending) bool {
	called := func(c *call) bool {
		return c.kind == toNotify && c.ticket() == k.ticket && c.host == b.Host && (c.ok() || c.unknown()) &&
			c.sent < b.Begin && s.faults.forgot(a.Begin, c.came)
	}
	made := s.made()
	recorded := func(r auditRecord) bool {
		return r.Fields["PICKET_EVENT"] == "notifying" && r.Fields["PICKET_TICKET"] == k.ticket && r.Host == b.Host &&
			made(r) <= b.Begin && s.faults.forgot(a.Begin, made(r))
	}
	return a.Host != b.Host && (slices.ContainsFunc(s.calls, called) || slices.ContainsFunc(s.audits, recorded))
}

// over is when a sending's sender knew its end, or gave it up: the receiver may hear of that later.
func (s *story) over(a sending) int64 { return min(a.at, a.Begin+s.timeout(a.Channel)) }
