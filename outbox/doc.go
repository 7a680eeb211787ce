// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package outbox is the durable store of intents: the local record that a notification must go out for a ticket.
//
// Redis and this file cannot commit together. What makes "accepted" mean "delivered, and never after it was superseded" is the
// order in which the two are written, and who settles what a crash leaves between two writes. This page is that order.
//
// # Stages
//
//	1 stage      outbox   the intent with its content and frozen bodies, under the ticket's id and a fresh one of its own;
//	                      fsynced, not sendable
//	2 hint       Redis    the ticket into the set of those that this outbox (its ID) answers for
//	3 NOTIFYING  Redis    fenced: the same content and bodies into the ticket, intent = the intent's id, owner = ID
//	4 commit     outbox   sendable; now, and only now, 202
//	5 attempt    Redis    taken for a lease, for each channel by itself
//	  begin      outbox   only on an at_most_once channel: sending, fsynced before the first byte
//	  send
//	  outcome    outbox   fsynced
//	  outcome    Redis    on the ticket
//	6 recorded   outbox   the channel's outcome is on the ticket, and with the last channel, in the same write,
//	  shut                the intent is closed: content and bodies leave, receipts stay. While a channel is parked it stays open
//
// engine/delivery does 1 to 4 and what is in Redis, the notifier asks it for 5 and does the rest.
//
//	           Stage            Commit                            Shut
//	(nothing) ──────▶ staged ───────────▶ committed ─────────────────────▶ closed ──▶ (nothing), when receipts expire
//	                    │                  adopted ◀── Adopt, of what stands on the ticket
//	                    │                     ▲──────────────────────────────┘ Adopt again: the ticket fell back
//	                    └──▶ (nothing), by Drop
//
// # Rules
//
//   - Stage, Commit and Drop touch only the entry of their own call's intent: ticket and id must both match. Two calls for a
//     ticket, or a call and what an earlier one left, cannot commit or drop each other's.
//   - A staged intent is never sent. Whether its NOTIFYING write was applied is known to Redis alone, so a staged intent without
//     a running call is asked about, for as long as the write may still land: it is committed when the ticket names it, and dropped
//     when the write cannot be applied any more. The next call for the ticket asks first.
//   - A receipt (a channel that is Sent) is a fact. No later outcome replaces it, closing the intent does not end the duty to
//     bring it to the ticket, and it stays for as long as terminal tickets do. There it settles the channel for the rest of the
//     ticket's run, under whatever intent. That of an earlier run goes into the history and settles nothing; so does that of a later one,
//     when the ticket fell back, until that run begins again.
//   - What an administrator decides (discard, settle, reopen), and a retry elsewhere, is a fact in each outbox that holds an intent of
//     the ticket: on the host where it is decided when the call returns, on the others after the engine's next round, which asks the
//     tickets of what is to be sent every 2 s: of the 500 intents that are due soonest within 15 s, and of 500 of all, in turn. With
//     n intents to send, a decision is here after n/250 s at latest. Before that it stops whatever asks for its attempt.
//     A ticket that does not answer delays no other, and is asked again in its turn; a round in which one is silent takes up to 5 s.
//   - Redis has lost an intent only if the ticket is gone or has no other intent, receipt or outcome on that channel for the same run,
//     and is not in a later one. Then it is sent all the same, if it is younger than give_up, and the send begins at most 12 s after
//     the question. Where another intent tells people the same under the same key, this one waits for what becomes of that. One that is
//     accepted elsewhere while this one is being sent does not wait for it: no ticket tells of that. Until it is sent or given up, which
//     on a channel that is not configured here it never is, a person can discard it on this host.
//   - A ticket that a failover brought back to NOTIFYING is told what is settled here, what people were told under any intent of its run,
//     too. What is not, because another intent had superseded it, is adopted again from the ticket.
//   - While Redis is away nobody can be asked, so only that is sent which nobody can have taken over, and which its ticket named as
//     this daemon's at most 5 s before the question that got no answer: when its NOTIFYING write was confirmed, or in a round. The
//     send begins at most 12 s after the question, so nothing begins 17 s after somebody else decided against it. That costs: of what
//     is tried again for longer, only those tries are made without Redis that fall into its first 5 s; the rest waits for its return.
//     After a restart it is what was staged in the last 5 s.
//   - Nobody can have taken over a committed intent, staged since the daemon's present run has given its signs of life without a
//     break, and younger than give_up. A break is longer than a sign lives (25 s) without one written while Redis answered, or a
//     freeze as long, or a restart, but for what was staged less than 20 s ago: the sign of the run before stood then. Redis counts as
//     away when it has answered nothing for 5 s in which the daemon ran; a send that comes more than a few seconds after that asks
//     again. What is older, adopted or at_most_once waits.
//   - A daemon answers for a ticket only when its content is here: first what this outbox knows of it goes onto the ticket, then the
//     content comes here, then the ownership. One that has some of the channels delivers those, puts back what it knows after a
//     failover as owners do, and owns nothing.
//   - An owner whose configuration has a channel no more, or whose outbox has no room for what it answers for, offers the ticket to
//     the daemons that can deliver it. From then on (Yield, before anyone can take it) it sends none of it without asking. On the
//     channels that it has it goes on. What else is open here for the ticket, because Redis lost it, changes nothing about that. Where
//     no daemon has the channel the notification stays pending, to be discarded by a person.
//   - An attempt is that of one run of a daemon, for one intent, with one number. A retry's intent waits for the attempt that the
//     intent before it has in flight, on this host too: until its outcome, which counts for the channel, or its lease's end.
//   - Leases end by Redis' clock. One that is set forward ends them early: another host sends at once, under the same key, or parks.
//   - On an at_most_once channel Begin refuses any channel but a pending one. What is found as sending after a crash is never
//     sent again: it is parked for a person. So is an intent whose channel this outbox knows an attempt of, of the same run under
//     another intent, of which nobody knows whether it arrived: Redis lost that one. A retry is a person's word about the channels that
//     it sends once more: on these, what was attempted before it in the run does not count, under that intent or one that takes its place.
//   - What Redis has lost is sent on an at_most_once channel only if nobody can have begun it: the channel is pending here, which Begin
//     would have changed before the first byte; the intent is committed, and since it was staged Redis took the signs of life of the
//     daemon's present run, and answered all that its rounds asked, never with 25 s in between, nor since; and the last round found no
//     other daemon's attempt on its ticket. So after a longer cut, or a restart, a person decides. What a round cannot see is a repeated
//     notify, or a retry, on another host that sent since the last round and that Redis lost together with the intent.
//   - What is parked on the ticket stays open here too (Waits): listed, with its content, without limit of time, neither due nor counted as
//     ready or old. It takes room in the outbox, and its user's. It costs its part of the engine's round, which closes it when it finds on the
//     ticket what was decided on whatever host, while this one was away too. A retry of the channel takes its place; that of another channel
//     hands it on to the retry's intent, content and all, wherever that is. Who answers for another's ticket has it likewise.
//   - When the round, or a decision on this host, finds that Redis lost the ticket, it is parked in this outbox alone, as the next rule says.
//     So is what was decided longer ago than terminal tickets are kept, if this daemon was away for as long.
//   - Any other is kept for a person (Keep): parked in this outbox alone, open, listed, with its content, without limit of time. On this
//     host retry, settle and discard decide about it, whether the ticket is gone, or was begun anew and has nothing to decide about, or
//     has something that the same call decides. Discarded is a fact here and changes no ticket. Settled is a receipt, which comes to the
//     ticket, and makes one that is gone anew, in INIT. Retried, it is an intent of its own (Again) that no ticket knows, which waits
//     if the ticket tells the same meanwhile, else is sent once and becomes a receipt; if nobody knows whether that one arrived, or it
//     was given up, it is kept again. When the ticket comes back, it is told that the channel is parked, and what is decided there
//     holds here; one that was retried here and not yet sent waits again. Where several outboxes have it, each has it to decide; what
//     people were told in its run, by a receipt on the ticket, closes it in each.
//   - Two intents may tell people the same: those of one ticket and run, after a retry or a loss of data. On one channel only one of them
//     is worked on at a time, so the second finds the receipt of the first.
//   - Whether a channel is at_most_once is frozen on the ticket with the content. A host that adopts or retries it under another
//     configuration keeps to that.
//
// # Where a crash can fall
//
// A crash is that of the daemon or its host at this point, after what is named first and before what is named second. "Found" is
// what the next start finds in the outbox, and "ticket" what Redis has. If the host never comes back, another host's daemon
// finds the ticket by its hint and adopts it, from C4 on; before that nothing was accepted.
//
//	     the crash falls             found, ticket                    resolved by                         a receiver sees it
//	C1   before stage                nothing; unchanged               the agent: it has no 202 and        once
//	                                                                  calls again
//	C2   after stage,                staged; unchanged                engine: asks Redis, drops it when   once, by the agent's
//	     before hint                                                  the write cannot land any more      next call
//	C3   after hint,                 staged; unchanged, hinted        as C2; the hint goes when the       as C2
//	     before NOTIFYING                                             staged intent has
//	C4   NOTIFYING sent or written,  staged; names the intent, or     engine: asks Redis until it names   once
//	     reply lost or not read,     will, or never does              the intent (commit), or cannot
//	     before commit                                                any more (drop)
//	C5   after commit,               committed, due; NOTIFYING        notifier; the agent's next call     once
//	     before 202                                                   is answered "replayed"
//	C6   after 202,                  committed, due; NOTIFYING        notifier                            once
//	     before attempt
//	C7   attempt taken,              pending, due; sending            notifier: an attempt of an earlier  once; at_most_once: not
//	     before send (or Begin)                                       run of its own is unknown at once,  at all, until a person
//	                                                                  and sent; at_most_once: parked      says so
//	                                                                  when the lease has run out
//	C8   at_most_once: begun,        sending, due; sending            notifier: parked; a person decides  not at all, or once if
//	     before the first byte,                                       with retry, settle or discard       the send had begun
//	     or before the outcome
//	C9   sent, before the outcome    pending, due; sending            notifier: sent again with the same  twice, with one key;
//	     in the outbox                                                key and body                        at_most_once: see C8
//	C10  outcome in the outbox,      sent, due; sending               notifier: brings the outcome to     once; twice if this
//	     before it is on the ticket                                   the ticket, sends nothing           host stays away and
//	                                                                                                      another delivers it
//	C11  outcome on the ticket,      sent, due; sent, or NOTIFIED     notifier: brings it again, which    once
//	     before shut                                                  changes nothing, and shuts
//	C12  shut for another channel,   closed, sent, due; NOTIFIED      notifier: brings it again, which    once
//	     before recorded                                              changes nothing, and marks it
//	C13  in the middle of a write    all of that write or nothing     nobody: the file's older meta page  as the row before or
//	     of the outbox               of it: the row before or after   is valid until the newer one is     after
//	                                                                  synced
//
// # The file
//
// One bbolt file, mode 0600, locked while it is open. Every write is a transaction that is synced before its call returns;
// calls that come while another is being synced share the next one. Bodies are kept apart from what changes, what is due is read
// from an index, and the numbers that Stats shows are counted once, when the file is opened.
//
// Past MaxSize, Stage and Adopt answer ErrFull; everything else may use the room beyond it, because it is what makes room. Stage
// answers it earlier to a user whose intents that are not closed take as much as is free: one user alone can fill half of the
// outbox, and there is always room for another.
// On a full disk any write may fail with the system's ENOSPC and leaves the file as it was before.
// Writable finds that out for a daemon that would have nothing to write otherwise.
//
// A bbolt file keeps what it frees. When most of a file of 16 MiB or more is free, what is left is copied, within a write's turn,
// into a new file, which takes the old one's name in one step. Writes wait for that, a fraction of a second, and locks do not,
// because nothing that keeps one alive writes here. A crash in between leaves the one file or the other, whole.
//
// Each record has a checksum over its key and value, and the order knows how many records each intent has. Open checks them all in
// one pass, in order. What does not match, or lacks a record, is taken out with the rest of its intent, kept aside in the file (the
// bucket aside), logged and counted (Damaged); so is what a later call meets. The engine adopts it again from the ticket, by its hint.
// A receipt that the ticket lacks is lost.
//
// What is no record has no checksum of this package. A flipped bit in bbolt's newest meta page takes the file back by one write. One in
// its list of free pages may name a page that is in use. Nobody sees that when the list is read: a later write takes the page and
// puts other data there, and what it held is lost. That shows when it is read, or at the next Open: as records that are missing or do
// not match, or as a tree that makes no sense (ErrDamaged).
//
// A damaged file never panics out of this package: Open, or the call that meets the damage, says ErrDamaged. After a write has
// met it, all further writes are refused until the file is opened anew. SetAside renames the file, and what was accepted is
// adopted again from the tickets.
//
// # What will bite
//
// The file is the identity: a copy of it that is opened on another host answers for the same intents. The file knows the last runs of
// the daemon that had it, so that none of these is taken for a copy when Redis falls back. The clock of what is due is the host's wall
// clock; for what may be sent without Redis, and for give_up, an intent has CLOCK_BOOTTIME and the boot with it. Due goes on returning
// a channel until a call here changes that, so a caller keeps in mind what it has in hand, and takes what it cannot handle out of the
// way with Postpone.
package outbox
