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
	// unasked is until when such a sending begins, counted from when somebody else decided against it. (outbox/doc.go)
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
	return s.decided(k.ticket, b.Channel, a.Begin, b.Begin, toRetry)
}

// endedBetween: "sent, before the outcome in the outbox: sent again with the same key and body" (outbox/doc.go, C9, C10)
func (s *story) endedBetween(_ key, a, b sending) bool {
	return s.faults.crashed(a.Host, a.Begin, min(s.over(a)+int64(stall), b.Begin))
}

// leaseRanOut: "a freeze or a cut from Redis longer than the attempt's lease, between send and record" (DESIGN, G10)
func (s *story) leaseRanOut(_ key, a, b sending) bool {
	return !knew(a, b) && b.Begin-a.Begin >= beyond && s.faults.struck(a.Host, a.Begin-int64(stall), s.over(a)+int64(stall))
}

// answeredLate: what is answered as the channel's time-out is reached may be known or not.
func (s *story) answeredLate(_ key, a, _ sending) bool {
	return arrived(a) && a.at-a.Begin > s.timeout(a.Channel)-int64(500*time.Millisecond)
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

// nobodyAsked: "While Redis is away nobody can be asked, so only that is sent which nobody can have taken over" (outbox/doc.go)
func (s *story) nobodyAsked(_ key, a, b sending) bool {
	if knew(a, b) {
		return false
	}
	return s.faults.silent(a.Host, b.Begin) || s.faults.silent(b.Host, b.Begin)
}

// silent: may a host have had no answer from Redis for as long before a sending?
func (all faults) silent(host string, begin int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool {
		return (f.onLink(host) || f.onRedis()) && f.begin <= begin-away && f.end >= begin-unasked
	})
}

// begunBefore: an attempt that was taken before the decision begins within its lease. (outbox/doc.go)
func (s *story) begunBefore(_ key, a, b sending) bool {
	lease := s.timeout(b.Channel) + beyond
	return a.Status == 0 && b.Begin-a.at <= lease && s.faults.struck(b.Host, a.at-lease, b.Begin)
}

// lostBoth: "lost data with two holders of the intent" (DESIGN, G10)
func (s *story) lostBoth(_ key, a, b sending) bool { return s.faults.lost(0, b.Begin) && !knew(a, b) }

// lostSecond: "What a round cannot see is a repeated notify, or a retry, on another host that sent since the last round and that Redis
// lost together with the intent." (outbox/doc.go) A daemon that is held up makes no rounds.
func (s *story) lostSecond(_ key, a, b sending) bool {
	return a.Host != b.Host && slices.ContainsFunc(s.faults, func(f *fault) bool {
		return f.loses && !f.keeps && f.within(a.Begin-round, b.Begin) && (f.begin <= a.at+round || s.faults.without(f).struck(b.Host, f.begin-round, f.end))
	})
}

// acceptedAnew: "notifications of then are told or sent again under the same key, the work since is done again" (docs/redis.md)
func (s *story) acceptedAnew(k key, a, b sending) bool {
	return a.Host != b.Host && slices.ContainsFunc(s.calls, func(c *call) bool {
		return c.kind == toNotify && c.ticket() == k.ticket && c.host == b.Host && (c.ok() || c.unknown()) &&
			c.sent < b.Begin && s.faults.forgot(a.Begin, c.came)
	})
}

// over is when a sending's sender knew its end, or gave it up: the receiver may hear of that later.
func (s *story) over(a sending) int64 { return min(a.at, a.Begin+s.timeout(a.Channel)) }
