// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package store is what Picket has in Redis: the keys, the flow that tickets follow, the scripts that write them, and what is read
// back. docs/schema.md has the table of every key and field; a test holds it against the scripts.
//
// Beside each script in lua stands one Go function of its name. It alone knows what the script is given and at which place of its reply
// what stands; nobody else knows ARGV, KEYS or a field. What both sides must call the same, codes and the states that every flow has, is
// written for Lua by script.go.
//
// Each script names in its first lines what it is given. All run after lua/common.lua, which compares the writer with the newest grant
// (G2), keeps the history, and ends claims; but for those that say that they stand alone.
//
//	Mint                  mint.go       a grant, its token, and the ticket
//	Step Fail Finish      claims.go     the fenced writes of a claim; Notify in notify.go
//	Release Break …       release.go    the ends of claims
//	Attempt Outcome       attempt.go    one channel of a notification
//	Resolve Retry Reopen  decide.go     what administrators say, and Own, who answers for a ticket
//	Chunk Unmark          chunk.go      which parts of a list are done
//	NoteReport            report.go     which runs and lists a report is of; the assets of lists
//	Sign Rest Forget      sign.go       a daemon's sign of life, and its end; the daemons that there are: Fleet in fleet.go
//	place                 index.go      where listings (list.go) and counts (task.go) find tickets; walk.go
//
// What scripts publish Ear hears (ear.go). A script that gets no answer is sent again by run, in store.go. A chunk of a list is done when
// all its tickets are terminal (chunk.go).
//
// The package has more than 3,000 lines and 35 files, and stays in one piece: a part of it in a package of its own would have to be told
// keys, fields and replies, which nobody else may know. There is a file for each subject.
//
// # What a script was decided upon
//
// A network may bring a script once more, or for the first time, after anything else was written. So each says on what it rests, and
// Redis compares that in the script:
//
//	step, failure, notify, finish   the grant, and a number that grows with the writes of a claim: nothing of it that is newer
//	mint, release                   the lock's nonce, and the grant's
//	break                           the grant and the lock that were read: it ends the claim that was there when it was called
//	reopen                          the ticket's revision
//	discard, settle                 the ticket's intent, and the channels that were in question then
//	retry, own                      the ticket's intent
//	attempt                         intent, and how many attempts the channel has had; answered with another number it is asked anew
//	outcome                         intent, attempt and run of the daemon; a receipt counts once, the ticket has a list of them
//
// What is left: a copy of a question whose attempt is under way begins its lease anew, and one of a write that was refused counts as
// one more refusal.
//
// A write tells the audit what it did, once, however often it was sent (tell.go), and Watch and the index how it left the ticket
// (stand.go).
package store
