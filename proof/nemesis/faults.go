// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import "time"

var (
	alone      = []string{"standalone"}
	sentinel   = []string{"sentinel"}
	cluster    = []string{"cluster"}
	replicated = []string{"sentinel", "cluster"}

	keeps = []string{"kept", "clock", "disk"}

	// Each is what a profile is about, and mixed has it too.
	lost  = []string{"lost", "mixed"}
	clock = []string{"clock", "mixed"}
	disk  = []string{"disk", "mixed"}

	waited = []string{"waited"} // alone: nothing else may lose data there
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// forGood is the fault after which nothing runs on a host any more. It is the last of a plan, if it is there, and
// not where Redis loses data: both lost for ever is more than a notification survives.
const forGood = "daemon is gone for good"

// Faults are all that there are. Times are set against those of Picket: a lock of a few seconds, a sign of life that lasts 25 s, and 10 s
// more until another host's daemon takes over.
//
// A master that is away is not replaced in the profiles in which nothing may be lost: there stage.Options.Patience is longer than that. In
// the others its replica takes over, and what that lacked is lost.
var Faults = []Fault{
	{Name: "daemon pauses", Least: 200 * ms, Most: 1500 * ms, Weight: 3, act: freezeDaemon},
	{Name: "daemon freezes", Least: 2 * s, Most: 14 * s, Weight: 4, act: freezeDaemon},
	{Name: "daemon freezes past its sign of life", Least: 26 * s, Most: 36 * s, Times: 1, act: asItSends(frozen)},
	{Name: "daemon is killed", Least: 50 * ms, Most: 12 * s, Weight: 5, act: killDaemon},
	{Name: "daemon stays away", Least: 37 * s, Most: 48 * s, Times: 1, act: asItSends(killed)},
	{Name: "daemon freezes as it sends", Least: 11 * s, Most: 18 * s, Weight: 3, act: asItSends(frozen)},
	{Name: "daemon is killed as it sends", Least: 2 * s, Most: 18 * s, Weight: 3, act: asItSends(killed)},
	{Name: forGood, Profiles: keeps, Times: 1, act: asItSends(lostHost)},
	{Name: "daemon is stopped", Least: 10 * ms, Most: 3 * s, Weight: 2, act: stopDaemon},

	{Name: "agent is killed", Weight: 4, act: killProcess("agent")},
	{Name: "agent freezes", Least: 200 * ms, Most: 14 * s, Weight: 4, act: freezeProcess("agent")},
	{Name: "exec is killed", Weight: 2, act: killProcess("exec")},
	{Name: "exec freezes", Least: 200 * ms, Most: 10 * s, Weight: 2, act: freezeProcess("exec")},
	{Name: "run is killed", Weight: 2, act: killProcess("run")},
	{Name: "run freezes", Least: 200 * ms, Most: 14 * s, Weight: 2, act: freezeProcess("run")},

	{Name: "host is cut off", Least: 200 * ms, Most: 14 * s, Weight: 3, act: cutOff},
	{Name: "host is cut off for long", Least: 18 * s, Most: 28 * s, Times: 1, act: cutOff}, // longer than it sends without asking
	{Name: "requests are cut", Least: 200 * ms, Most: 12 * s, Weight: 2, act: cutRequests},
	{Name: "requests are held up", Least: 3200 * ms, Most: 6 * s, Weight: 4, act: cutRequests}, // and come when the locks have run out
	{Name: "replies are cut", Least: 200 * ms, Most: 12 * s, Weight: 3, act: cutReplies},
	{Name: "replies are lost", Least: 100 * ms, Most: 1500 * ms, Weight: 4, act: loseReplies},
	{Name: "replies are lost again and again", Least: 3 * s, Most: 12 * s, Weight: 4, act: loseRepliesAgain},
	{Name: "replica is cut off", Topologies: replicated, Least: 500 * ms, Most: 8 * s, act: cutReplica},
	{Name: "host is cut off from receivers", Least: 1 * s, Most: 10 * s, act: cutFromReceivers},
	{Name: "replies of receivers are cut", Least: 1 * s, Most: 10 * s, act: cutRepliesOfReceivers},
	{Name: "link of a host is slow", Least: 1 * s, Most: 10 * s, act: slowHost},
	{Name: "link of a node is slow", Least: 1 * s, Most: 8 * s, act: slowNode},

	{Name: "redis is killed", Topologies: alone, Least: 50 * ms, Most: 6 * s, Weight: 3, act: killMaster},
	{Name: "redis freezes", Topologies: alone, Least: 200 * ms, Most: 10 * s, Weight: 3, act: freezeMaster},
	{Name: "master is killed", Topologies: replicated, Profiles: keeps, Least: 50 * ms, Most: 6 * s, Weight: 2, act: killMaster},
	{Name: "master freezes", Topologies: replicated, Profiles: keeps, Least: 200 * ms, Most: 8 * s, Weight: 2, act: freezeMaster},
	{Name: "master is killed and replaced", Topologies: replicated, Profiles: lost, Loses: true, Least: 4 * s, Most: 12 * s, Times: 4, act: killMaster},
	{Name: "master freezes and is replaced", Topologies: replicated, Profiles: lost, Loses: true, Least: 4 * s, Most: 12 * s, Times: 4, act: freezeMaster},
	{Name: "replica is killed", Topologies: replicated, Least: 200 * ms, Most: 8 * s, act: killReplica},
	{Name: "sentinel is killed", Topologies: sentinel, Least: 200 * ms, Most: 6 * s, act: killSentinel},
	{Name: "sentinel freezes", Topologies: sentinel, Least: 200 * ms, Most: 6 * s, act: freezeSentinel},
	{Name: "connections are closed", Weight: 2, act: closeConnections},
	{Name: "scripts are forgotten", act: forgetScripts},
	{Name: "memory is short", Least: 200 * ms, Most: 4 * s, act: shortMemory},
	{Name: "slot moves", Topologies: cluster, Least: 100 * ms, Most: 3 * s, Times: 4, act: moveSlot},
	{Name: "planned failover", Topologies: replicated, Times: 3, act: failOver},

	{Name: "failover loses writes", Topologies: replicated, Profiles: lost, Loses: true, Least: 2 * s, Most: 5 * s, Times: 2, act: loseWrites},
	{Name: "failover loses what no replica has", Topologies: replicated, Profiles: waited, Loses: true, Keeps: true, Least: 1 * s, Most: 4 * s, Times: 4, Weight: 2, act: loseUnwaited},
	{Name: "all is flushed", Profiles: lost, Loses: true, Times: 4, act: flushAll},
	{Name: "older dump", Profiles: lost, Loses: true, Least: 1 * s, Most: 15 * s, Times: 4, act: olderDump},

	{Name: "clock is set forward", Profiles: clock, Steps: true, Least: 500 * ms, Most: 15 * s, Weight: 2, act: stepClock(+1)},
	{Name: "clock is set back", Profiles: clock, Steps: true, Least: 500 * ms, Most: 15 * s, Weight: 2, act: stepClock(-1)},

	{Name: "disk is full", Profiles: disk, Least: 500 * ms, Most: 10 * s, Weight: 3, act: fillDisk},
	{Name: "disk is read-only", Profiles: disk, Least: 500 * ms, Most: 10 * s, Weight: 2, act: readOnlyDisk},

	{Name: "receiver is slow", Least: 1 * s, Most: 12 * s, Weight: 3, act: mood("slow")},
	{Name: "receiver hangs", Least: 1 * s, Most: 12 * s, Weight: 4, act: mood("hang")},
	{Name: "receiver reads nothing", Least: 1 * s, Most: 12 * s, Weight: 3, act: mood("unread")},
	{Name: "receiver hangs up", Least: 1 * s, Most: 12 * s, Weight: 4, act: mood("reset")},
	{Name: "receiver fails", Least: 1 * s, Most: 12 * s, Weight: 3, act: mood("fail")},
	{Name: "receiver is busy", Least: 1 * s, Most: 12 * s, Weight: 3, act: mood("busy")},
	{Name: "receiver lies", Least: 1 * s, Most: 12 * s, Weight: 4, act: mood("lie")},
	{Name: "receiver is gone", Least: 1 * s, Most: 8 * s, Weight: 3, act: mood("gone")},
	{Name: "receiver has moved", Least: 1 * s, Most: 8 * s, Weight: 3, act: mood("moved")},
}
