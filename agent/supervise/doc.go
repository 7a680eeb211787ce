// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package supervise starts programs and ends them with all that they have started. picket exec, picket run and exec channels use
// it. It imports nothing of Picket and so can be imported by all three; it stands below agent, beside the other leaves that serve more
// than the agent, because most of what it does is for commands that run under a claim.
//
// Who starts a program decides who ends with it:
//
//	Start       the program leads a process group. Its group gets signals, and Members tells who is left of it. What has made a group
//	            of its own is out of reach. With PDEATHSIG in SysProcAttr the program dies with this process; the others of its group do not.
//	StartTree   the program runs under a warden, another process of this binary. All of its descendants get signals, in whatever group they
//	            are, and all are killed when this process dies.
//
// An ended program stays a zombie until it is reaped, so that its id, and its group's, is not given to another while signals are
// sent there.
package supervise
