// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package engine holds a host's claims: it locks assets, renews the locks while their agents deserve it, mints fencing tokens, and
// writes tickets through Lua scripts that refuse all but the newest grant.
//
// # Who decides
//
// Redis decides about every write, in one script with the write (engine/store): the caller's token and nonce must equal those
// of the asset's newest grant, and that grant must be for this ticket. Equality, not "at least"; the asset's grant, not the
// ticket's own token: so a zombie of an older task is refused too. The lock, the watchdog and this daemon's clock decide nothing
// about safety. They keep two agents from doing the same work, and tell the loser early.
//
// # A claim's life
//
//	read ──terminal──▶ the ticket is answered, no lock
//	 │ ▲
//	 │ └──held, wait── queue on this host; the first of it polls, woken by published releases
//	 ▼
//	lock (redsync, value = nonce) ─▶ mint (checks the lock; token; ticket) ─▶ held ─┬─▶ released   by finish or release
//	 └── no grant: redsync's Unlock, by value, on a context of its own              └─▶ lost       with a reason
//
// A claim is trusted until
//
//	send time of the last successful renewal + TTL − margin      margin = max(TTL/5, 200 ms)
//
// on CLOCK_BOOTTIME, which goes on during a suspend, and no longer than its heartbeat and its max_hold last: every answer tells the
// least of the three, and each is looked at at its own time. The lock in Redis lives for a margin longer, counted from later, so a claim is
// given up here before anyone else can be granted the asset. A renewal is due at a third of the TTL, give or take 10 %, and is
// given a sixth of it. That a lock is gone is an answer; every other failure of a renewal is unknown, is tried again at a twelfth
// of the TTL, and becomes a loss only when the trust has run out, then even with a call in flight.
//
// # What each loss means
//
//	process_exit  the watched process ended. The lock is freed at once. So is that of a claim which is granted, or taken up again,
//	              while the process ends.
//	silent        no POST on the claim within its heartbeat. The agent may still be at work: it is told, renewal stops, and the lock
//	              is freed one margin later. What does not count: time in which this daemon was stopped itself; from a drain until the
//	              next run serves; a call of the agent's that is under way. A watch that a drain ends leaves the heartbeat out.
//	max_hold      the claim lasted as long as it may. As silent.
//	expired       the trust ran out, because Redis did not answer or this host slept, and nobody is known to have the asset.
//	taken         another grant is newer, or the lock carries another nonce; or Redis refused a write as stale.
//	store_reset   lock, grant and ticket of the asset are all gone: Redis lost its data.
//	forced        an administrator ended it. The lock is freed at once, so what picket exec ran may overlap with the next holder's
//	              work until it is killed; nothing that it begins to write here is accepted.
//
// A lost claim never renews again and is never revived; the agent claims anew and is given what was recorded. It is told of at once: a
// crash before it is in the journal, too, has the next run find the lock and take the claim up again.
//
// # Failures
//
//	where it strikes                            what holds
//	─────────────────────────────────────────   ──────────────────────────────────────────────────────────────────────────────
//	reply of the lock lost                      released by value, tried again with the same nonce; one that lands late is ours
//	sleep between lock and mint                 mint checks that the lock carries the nonce, so it mints nothing
//	reply of the mint lost                      mint again: the grant has our nonce, and answers the same token
//	sleep between mint and answer               the trust is looked at before the claim is answered
//	reply of a finish or release lost           as below; for as long as nothing answers, what became of it is asked. When the trust runs
//	                                            out meanwhile, the watch says lost at once; the claim is released after all if the call had
//	                                            landed, and the audit has it as lost only if not; by the next run of the daemon, too
//	reply of a write lost                       sent again: same digest, same request or same nonce answers as before
//	daemon stops                                within 2 s, so claims outlive it; a call that waits for Redis says STORE_UNAVAILABLE
//	daemon dies holding claims                  the next run takes them up from the journal if their locks still carry their nonces and
//	                                            their agents live; else the locks run out, and the tickets can be claimed
//	daemon dies before a claim is answered      the request, sent again under its name by the same process, is answered with the claim;
//	                                            one without a name finds the asset held, for two threads of a process are not told apart
//	disk full when a claim ends                 the journal writes it when there is room again; until then a restart tells it as lost
//	agent dies                                  its pidfd tells; the lock is freed at once
//	agent and daemon freeze                     another claims; Redis refuses what they write when they wake
//	Redis stopped or cut off                    calls say STORE_UNAVAILABLE within 5 s, those too that wait for others on their claim or
//	                                            ticket, and those that waited for a restart; claims are lost at their deadline, not before
//	a node of a Cluster hangs                   calls on assets of the others go on, their claims are renewed, their notifications accepted and
//	                                            delivered. While it is the node with the signs of life, nobody is taken over from
//	Redis out of memory                         a script's first write is refused and with it the whole; renewals need no memory
//	failover to a replica that lags             the lost grant's nonce is refused; tokens do not fall below Redis' clock or what
//	                                            this daemon has seen; what the replica had is the truth: the grant before the lost one is
//	                                            the newest again, and its claim, if it is still at work, may write. A holder who is told of
//	                                            a loss writes no more. With Config.Replicas a grant that a replica lacks is answered to nobody
//	too few replicas                            a claim is taken back: its lock is freed, its token stays used up. NOTIFYING stays, for a
//	                                            repeated call may have seen it: its intent stays staged, unsent here, until they have it
//	failover, or older dump, after a restart    the sign of life that comes back is of a former run, which the outbox knows: signed over
//	outbox.db copied, both run                  the one that was there first finds the other's sign renewed, says which process on which
//	                                            host, and neither accepts nor sends until that sign has stood still for 10 s
//	Redis lost an at_most_once notification     sent if nobody can have begun it; else kept in the outbox with its content for a person, who
//	                                            decides on that host; the decision is a fact there, and audited
//	copy of a script comes late                 each names what it was decided upon, and changes nothing when that has moved on (engine/store)
//	publish lost                                the poll finds the release; the next renewal finds that a claim was broken
//	connection for subscriptions lost           subscribed anew, then all who wait look at the lock, and all claims are renewed early
//	caller goes away while it waits             its place in the queue is given up, a lock or grant taken for it is released
//	caller goes away during a write             the write goes on; asked again, it answers as replayed
//
// # One user among many
//
// Renewals and the ends of claims go over connections of their own (Config.Urgent), so that no other call is before them. What only
// needs a ticket's state peeks and gets no facts. A call that is answered with a large ticket asks first whether there
// is memory for it (Config.Weigh); one that only waits gives its turn back (Config.Rest). In a ticket's history the same failure again
// is counted, and past 1,000 events whatever an agent can repeat without end: numbers stay without gaps. SECURITY.md
// says what a user can do to others.
//
// Tickets are read without a lock, and this daemon keeps no copy of any. How a notification leaves is the specification in
// outbox/doc.go; towards Redis it is engine/delivery's. What trust rests on, clocks, tokens, signs of life, engine/lookout watches. What
// is in Redis only engine/store knows.
//
// # The files
//
//	start.go, engine.go          the parts and how they are wired; what sockapi asks of them
//	acquire.go, lock.go          who is granted an asset: screen, wait, lock, mint; liveness.go: what a claim's life hangs on
//	claim.go, end.go             a claim, what is told of it, its end
//	roster.go, claims.go         how many claims a user holds on this host, and how long ended ones are remembered; which claims there are,
//	                             and how they look
//	sign.go, watchdog.go, renew.go   signs of life; what is due when; the renewal
//	queue.go                     who waits for a held asset
//	step.go, finish.go, notify.go    the calls on a claim, over write.go; admin.go: those of administrators; gathered.go: the figures of
//	                                reports
//	journal.go, restore.go          claims over a restart; unanswered.go: ends that got no answer
//	deadline.go                  how long a call may ask Redis, and how much memory it may take
//
// The package has more than 3,000 lines and stays in one piece: roster, watchdog, journal and the calls all work on the same claims,
// which nobody outside may touch. Delivery, lookout and process know no claim, and are packages of their own.
package engine
