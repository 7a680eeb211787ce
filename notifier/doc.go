// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package notifier sends what the outbox has ready, on the configured channels. What a channel is, package channel says; this one
// decides whether and when there is an attempt, and records what became of it.
//
// dispatch.go reads the outbox, lanes.go has what waits in memory, attempt.go takes one channel of one intent from the question to
// the answer, outcome.go records, and says when it is tried again. gate.go is what an attempt must pass: breaker, rates, and the line before them.
//
// # Who decides
//
// The outbox says what is due, the ticket says whether it may go out now (Config.Attempt), the channel says what became of it
// (channel.Result), and only then does anything move:
//
//	due ─▶ may the channel be used? ─▶ Attempt ─▶ (Begin) ─▶ send ─▶ Record ─▶ Outcome ─▶ Recorded, or Shut with the last
//	       (breaker, rate)             on the      only for           fsynced   on the
//	                                   ticket      at_most_once                 ticket
//
// One attempt of an intent on a channel runs at a time in a process; between hosts the attempt's lease on the ticket does the
// same. The lease is counted on CLOCK_BOOTTIME from before the question was asked, and before the first byte it must still
// last for the channel's whole time-out; of mail, that is the sum of its commands' and its two long waits. Without an answer (outbox.ErrAway) a committed intent goes out all the same, by the rule in
// outbox's page, and so does what Redis lost; both only right after the question: after a freeze it is asked again.
//
// # What a sender's answer leads to
//
//	Sent                        settled
//	Dead                        settled: refused for good
//	Pending, Unknown            tried again with the same key and body, after a backoff; older than GiveUp: Dead
//	                            GiveUp is counted on CLOCK_BOOTTIME where this boot staged the intent, else by the wall clock from its
//	                            At. An old one that was never tried from here, as its host was off, or a clock wrong, waits for its
//	                            turn on a channel that cannot be used, for as long as GiveUp since this run was about to try it
//	Unknown on at_most_once     never tried again: the next question to the ticket parks it for a person
//	doubtful on at_most_once    the same: an answer 500, 502 or 504, an exit code other than 75
//
// # Where it can stop, and what is done then
//
//	after Attempt, before the send     the lease runs out, or the next attempt of this daemon replaces it
//	after Begin (at_most_once)         the outbox says sending: never sent again, parked; if Redis lost it, kept in the outbox
//	between a mail's transactions      the outbox says who has it; the next attempt is for the others. Another host's is for all
//	after the send, before Record      the outbox says pending: sent again with the same key (at_most_once: as above)
//	after Record, before Outcome       a settled status is brought to the ticket until it is there; it is not sent again
//	after Outcome, before Recorded     the same; the ticket knows it already
//	a full disk after the send         the outcome stays in memory and is tried again; its place stays taken, so a channel
//	                                   gets no more than 16 attempts ahead of the outbox
//
// With its last channel an intent is shut, before that channel is marked as recorded: between the two it is still looked at.
//
// # What waits where
//
// Each channel has a lane: a queue of at most 1,024 in memory, and 16 attempts at a time, a webhook 64. The worst severity goes first; among
// those of one severity, users take turns, and each one's oldest goes first. What a rate holds back stands in a line by the same
// order, is told when its turn comes, and lets a better one pass that comes meanwhile. What is better than the last in a full lane
// takes its place. What finds its lane full stays in the outbox; if it would hide there what is due on other channels, it is put off by as long as the lane's pace says. A breaker
// per channel opens after 5 failures in a row, and then lets one attempt through every 10 s; what it or a rate holds back is
// put off before it takes an attempt, so an outage uses up none. A channel that is not configured here, or under another type,
// stays pending.
//
// # What will bite
//
// A Notifier does not close its outbox. Stop it before the store is closed, and before the engine that answers Attempt and
// Outcome.
package notifier
