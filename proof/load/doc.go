// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package load is the work that goes on while the proof torments Picket, and the receivers of its notifications.
//
//	agents     processes with some workers each, which claim, write, retry, forget, fall silent, write under old claims, and act as
//	           operators. Every call and answer is in the history as it went over the wire: Call before it is sent, Answer after.
//	tellers    one worker more on each host, which does nothing but have people told
//	exec       on each host picket exec, with a command that leaves a sign of life every 50 ms
//	run        on each host picket run, over one list under one task, with a scanner that leaves such signs too
//	receivers  what answers on the channels, in whatever mood it is told to be
//
// Who works on what:
//
//	shared-N   few assets which all workers fight for. Their task moves on with time, so that each ticket's register stays short.
//	told-N     an asset for each few seconds, about which people are told: from host after host, with the same or other words.
//	exec-N     assets of picket exec alone
//	run-N      assets of picket run alone, the list
//
// Nothing here imports the product: what an answer means is read from its JSON.
package load
