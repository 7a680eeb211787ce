// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package agent is the agent that comes with Picket: it takes assets through the flow asset-inference on real scanners, one
// or a list of them, on as many hosts at once as there are.
//
// # Who decides
//
// The ticket does. After every write the agent goes on from the state that the daemon answered, so a run that takes over an
// asset goes on where the one before it stopped, and what is recorded is not done again. Everything that a decision rests on
// is read from the recorded facts, never from memory: whoever takes over decides the same.
//
//	INIT ─online─▶ ASSET_ONLINE ─vuln─▶ VULN_CHECK_DONE ─(intel)─assess─▶ HIGH_RISK_FOUND ─notify─▶ NOTIFYING ─▶ finish
//	          └──▶ ASSET_OFFLINE ─finish                          └──▶ FINISHED: no high risk, or told earlier
//
// # The claim
//
// Each asset is worked on under a claim of its own, which lives as long as this process and its heartbeat. The trust in it ends
// at a deadline on CLOCK_BOOTTIME, counted from when the call was sent that last told of it (see lease.Hold, Watch). At the deadline, or when the
// daemon says that the claim is lost, the running command's process group gets TERM, and KILL after two thirds of the margin
// between the end of trust and the end of the lock: before anybody else can hold it.
//
// # What can go wrong
//
//	a step fails, takes too long,           recorded as its failure, tried again `retries` times with backoff; then the asset
//	or its output cannot be used            is failed here and its ticket stays where it is, to be resumed by a later run
//	a step has failed so often, on          whoever comes next tries it once; after twice as many failures it rests for an hour
//	whatever hosts (failure.count)          from its last one on, and the result says until when (--again: at once)
//	a command ends with 75                  no failure; the asset is tried again later
//	another holds the asset                 tried again later, as long as anything moves, then for --give-up
//	the claim is lost                       what runs is ended; tried again later, at most five times
//	the daemon restarts, Redis is away      calls are repeated with backoff; no failure. What is away, and since when, stands
//	                                        in the line of progress and at the end, which is 69 when it left something undone
//	the daemon stands still                 a call is given up after 10 s and repeated; no asset is begun beyond --give-up
//	the task or a flag is refused           the run ends with that one error, since every asset would get it
//	a catalogue changes, or a file of       it is read again; while it cannot be read, the one before is used, and it is tried
//	accepted risks                          again. A catalogue that becomes older than max_age fails the step
//	an accepted risk met nothing            named at the end of the run, of the assets that this one assessed
//	nobody reads the output, or it is full  no work waits: lines of the log are left out and counted, results are kept; a second
//	                                        signal ends the run all the same
//	this process is killed                  its commands die with it (PDEATHSIG), its locks are freed at once, others resume
//	this process stands still               its claims are lost after the heartbeat; when it wakes its commands are ended first
//	the work on an asset hangs              no sign of life goes out once a step should have moved: its claim is lost
//	a command cannot be ended, because it   given up after KILL and 2 s; log and ticket say which process still runs, and the
//	is another user's (sudo) or is stuck    step is not tried again in this run
//	something is wrong with this host: no   no failure of a step; the run tries one asset at a time, after a pause, and ends
//	such program, no descriptors, no disk   after 5 minutes of that, or after --give-up; the assets are free for other hosts
//	the run is to end (TERM, INT, HUP)      what runs is finished and recorded, a high risk is told; nothing else is begun. An
//	                                        asset that waits for its next try is stopped, not failed
//	the same list on several hosts          each takes chunks of it in an order of chance; each asset is done once, and what is done
//	                                        is passed over, 256 assets with one call
//	a host of a list dies, or stands still  the others do what it left: nobody owns a chunk
//	the run that makes a report dies        another that is still there begins it anew; else the next run with this list does
//	a run with another list of the report   the others wait until it was not heard of for 45 s; nothing moves then for --give-up: what
//	dies                                    it left counts as not scanned, and the report says so
//	the report is made before an asset is   the asset is told by itself; what met the very moment, the next report tells as new
//	assessed
//	a ticket is reopened                    its chunk is looked at again by whoever comes next, and so is all when Redis lost data
//
// What a command has started in process groups of its own, and what is left of its group when this process is killed by
// force, is not ended with it; a service manager that ends the whole control group does that.
//
// # Half a scan
//
// A report is used only when it could be read to its end and the scanner ended as it does after a whole scan (ok_exit), with
// all that it started in its process group: what had to be ended had not finished, whatever it wrote. Every other end is a
// failure of the step, and never "nothing found". So is a scan that looked at nothing, as far as its format tells. What the
// scanner itself leaves open stands in the verdict (scanner_notes), and so do scores that cannot be read (unread_vectors). Of a
// scanner that says that it could not try all (incomplete), a report calls nothing fixed.
//
// Offline is an asset of which every address was asked for the whole time-out and none answered. Resolving has a time of its
// own. A name that does not resolve or has more addresses than are asked, an address that cannot be tried from here, and a
// process that stood still meanwhile are failures of the step online, and never "offline".
//
// The figures that a condition names are those of all findings, of whatever step, whether the list has room for them or not.
// What a command says of its own figures (kev, kev_ids, epss, max_cvss, count …) counts where it is graver; what is none is an
// error. Every CVE is asked for, that of a finding that is not listed too (omitted_cves). A condition that looks at the findings
// one by one is not decided over a list that was cut, and one that looks at kev or epss not while CVEs could not be asked for
// (unchecked), unless what is missing could change nothing. What is accepted does not count, as far as listed findings explain the
// figures (verdict.Evidence.Without); it is recorded with the decision, and all that comes after reads it there.
//
// A report in a file is used when it is whole, not older than this run of the ticket (or max_age), and of this asset where its
// format names one. A run begins when the ticket is made or reopened; where nobody can tell when, only max_age helps. Without
// an end of its own, as nuclei's lines, it must have been left alone for a while, and must not be empty.
//
// # A report
//
// A list is an asset, too: list:NAME, in the flow list-report. Which runs are at work on which lists for it, the daemon keeps (reporter.go).
// When all is settled, whichever run comes first gathers it from the assets' tickets and those of the reports before (gather.go, feed.go),
// and has people told, in one message. It is compared with what people were told: with the newest report that somebody got, and of an asset
// with what the newest of those reports knew that could know it. An asset is left to the report only as long as that is not made.
//
// Told is who has a receipt. With notification.repeat, a channel without one is told again, and only that. The times that are
// compared are all Redis'.
//
// The package has more than 3,000 lines and stays in one piece: a step, its job and the run over a list read the same options, and hand
// the same result on. What can be said without them is in the packages below it: lease, verdict, findings, reach, supervise, assets,
// accept.
package agent
