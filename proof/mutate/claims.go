// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package mutate

// claims are rules of who holds an asset, and for how long.
var claims = []Mutation{
	{
		Name: "unanswered renewal counts", Guarantee: "G1", File: "engine/renew.go",
		Old: "\tcase extended:\n\t\tresult = \"ok\"",
		New: "\tcase extended || !gone:\n\t\tresult = \"ok\"",
		Why: "a renewal that got no answer prolongs the trust: a daemon that is cut off trusts a lock that has run out", Profiles: []string{"kept"},
	},
	{
		Name: "trust outlives the lock", Guarantee: "G1", File: "engine/claim.go",
		Old: "return sent + t.ttl - t.margin }",
		New: "return sent + t.ttl + t.margin }",
		Why: "the margin has the wrong sign: a claim is trusted when its lock has run out", Profiles: []string{"kept"},
	},
	{
		Name: "anybody's lock is freed", Guarantee: "G1", File: "engine/store/lua/common.lua",
		Old: "  if redis.call('GET', LOCK) == NONCE then\n    unlock()\n  end",
		New: "  unlock()",
		Why: "a release that comes late, or twice, frees the lock of who holds the asset now", Profiles: []string{"kept"},
	},
	{
		Name: "claims are taken up unasked", Guarantee: "G8", File: "engine/restore.go",
		Old: "\tcase !extended:\n",
		New: "\tcase !extended && (c.process != nil || !r.Watched):\n\t\tc.renewing = true\n\t\te.dog.follow(c)\n\tcase !extended:\n",
		Why: "after a restart a claim is held again although another has the lock by then", Profiles: []string{"kept"},
	},
	{
		Name: "tokens count from the last one alone", Guarantee: "G3", File: "engine/store/lua/common.lua",
		Old: "math.max(tonumber(last or 0) + 1, tonumber(NOW), tonumber(TOKEN) + 1)",
		New: "math.max(tonumber(last or 0) + 1, tonumber(TOKEN) + 1)",
		Why: "when Redis has lost its data, a daemon that did not see the last token begins below it", Profiles: []string{"lost"},
	},
	{
		Name: "tokens are the clock alone", Guarantee: "G3", File: "engine/store/lua/common.lua",
		Old: "math.max(tonumber(last or 0) + 1, tonumber(NOW), tonumber(TOKEN) + 1)",
		New: "tonumber(NOW)",
		Why: "when the clock of Redis is set back, tokens go back", Profiles: []string{"clock"},
	},
	{
		Name: "tokens forget what their daemon granted", Guarantee: "G3", File: "engine/store/lua/common.lua",
		Old: "math.max(tonumber(last or 0) + 1, tonumber(NOW), tonumber(TOKEN) + 1)",
		New: "math.max(tonumber(last or 0) + 1, tonumber(NOW))",
		Why: "when Redis has lost its data, and its clock is behind, a daemon begins below what it granted itself", Profiles: []string{"mixed"},
	},
	{
		Name: "locks are renewed when they run out", Guarantee: "G7", File: "engine/claim.go",
		Old: "return sent + again.Jitter(t.ttl/3) }",
		New: "return sent + again.Jitter(t.ttl) }",
		Why: "each claim is lost as its trust ends, though nothing keeps its daemon from renewing it", Profiles: []string{"kept"},
	},
	{
		Name: "a restart loses all claims", Guarantee: "G7", File: "engine/restore.go",
		Old: "\tcase !extended:\n",
		New: "\tcase true:\n",
		Why: "the next run of a daemon takes no claim up again, though its lock and its agent live", Profiles: []string{"kept"},
	},
	{
		Name: "a forced end is told as taken", Guarantee: "G8", File: "engine/renew.go",
		Old: "\tcase snap.Grant.Forced:\n\t\treturn ReasonForced\n",
		New: "",
		Why: "a holder whom an administrator sent away is told that another has the asset", Profiles: []string{"kept"},
	},
	{
		Name: "exec does not heed an administrator", Guarantee: "G8", File: "daemon/cmd/picket/guard_linux.go",
		Old: "\t\tcase s.Lost != \"\":\n",
		New: "\t\tcase s.Lost != \"\" && s.Lost != \"forced\":\n",
		Why: "the command of a claim that was ended by force goes on until the trust in it runs out", Profiles: []string{"kept"},
	},
	{
		Name: "dead processes are not missed", Guarantee: "G7", File: "engine/processes.go",
		Old: "\tcase <-process.Exited():\n\t}",
		New: "\tcase <-make(chan struct{}):\n\t}",
		Why: "nobody looks whether the process lives: the lock of a dead agent is renewed until its cap", Profiles: []string{"kept"},
	},
	{
		Name: "locks of the dead run out by themselves", Guarantee: "G7", File: "engine/renew.go",
		Old: "\tif e.conclude(c, ReasonProcessExit) {\n\t\te.spawn(func(ctx context.Context) { e.free(ctx, c) })\n\t}",
		New: "\te.conclude(c, ReasonProcessExit)",
		Why: "the lock of a process that ended is not freed, so others wait for its ttl", Profiles: []string{"kept"},
	},
	{
		Name: "silence is not judged", Guarantee: "G7", File: "engine/claim.go",
		Old: "return min(c.trusted, c.cappedAt(), c.silentLocked(m))",
		New: "return min(c.trusted, c.cappedAt())",
		Why: "an agent that hangs keeps its claim until its cap", Profiles: []string{"kept"},
	},
	{
		Name: "exec leaves its command", Guarantee: "G8", File: "daemon/cmd/picket/guard_linux.go",
		Old: "\tg.killAt = g.trust.KillAt(process.Boottime())\n\tch.Terminate()\n",
		New: "\tg.killAt = g.trust.KillAt(process.Boottime()) + 10*time.Second\n",
		Why: "when the claim is lost, the command goes on while another holds the asset", Profiles: []string{"kept"},
	},
	{
		Name: "exec has no clock of its own", Guarantee: "G8", File: "daemon/cmd/picket/guard_linux.go",
		Old: "\t\tcase now >= g.trust.Until:\n\t\t\tg.end(ch, clock, s.Lost)\n",
		New: "",
		Why: "the command ends only when the daemon says so, and one that is frozen says nothing", Profiles: []string{"kept"},
	},
	{
		Name: "run has no clock of its own", Guarantee: "G8", File: "agent/lease/lease_linux.go",
		Old: "case lost != \"\", now >= trust.Until:",
		New: "case lost != \"\":",
		Why: "a scanner of picket run ends only when the daemon says so, and one that is frozen says nothing", Profiles: []string{"kept"},
	},
	{
		Name: "run leaves its scanner", Guarantee: "G8", File: "agent/command_linux.go",
		Old: "\t\t\tp.Terminate()\n\t\t\tdelay := killDelay(ctx)",
		New: "\t\t\tin.claim = nil\n\t\t\tdelay := killDelay(ctx) + 10*time.Second",
		Why: "when the claim is lost, a scanner goes on while another holds the asset", Profiles: []string{"kept"},
	},
}
