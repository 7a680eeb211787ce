// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package mutate

// writes are rules of what is written to tickets.
var writes = []Mutation{
	{
		Name: "any claim of the ticket may write", Guarantee: "G2", File: "engine/store/lua/common.lua",
		Old: "return g[1] and tonumber(g[1]) == tonumber(TOKEN) and g[2] == NONCE and g[3] == ID",
		New: "return g[1] and g[3] == ID",
		Why: "the fence forgets token and nonce: who lost the asset writes after who has it now", Profiles: []string{"clock", "kept"},
	},
	{
		Name: "the ticket's token is the fence", Guarantee: "G2", File: "engine/store/lua/common.lua",
		Old: "return g[1] and tonumber(g[1]) == tonumber(TOKEN) and g[2] == NONCE and g[3] == ID",
		New: "return tonumber(redis.call('HGET', TICKET, 'token') or 0) == tonumber(TOKEN)",
		Why: "a claim on an older task, or one that an administrator broke, writes while another holds the asset", Profiles: []string{"clock", "kept"},
	},
	{
		Name: "steps have no fence", Guarantee: "G2", File: "engine/store/lua/step.lua",
		Old: "if not newest() then",
		New: "if redis.call('EXISTS', GRANT) == 0 then",
		Why: "a step is recorded whoever holds the asset", Profiles: []string{"clock", "kept"},
	},
	{
		Name: "a finish has no fence", Guarantee: "G2", File: "engine/store/lua/finish.lua",
		Old: "if not newest() then",
		New: "if redis.call('EXISTS', GRANT) == 0 then",
		Why: "a ticket is finished whoever holds the asset", Profiles: []string{"clock", "kept"},
	},
	{
		Name: "a failure comes after the end", Guarantee: "G4", File: "engine/store/flow.go",
		Old: "func (f *Flow) failable() []State { return without(f.open(), Notifying) }",
		New: "func (f *Flow) failable() []State { return append(f.open(), Finished) }",
		Why: "a ticket leaves NOTIFYING, or FINISHED, by a failure that is reported late", Profiles: []string{"kept"},
	},
	{
		Name: "a step again is a conflict", Guarantee: "G5", File: "engine/store/lua/step.lua",
		Old: "if recorded and string.match(recorded, '%S+$') == DIGEST then",
		New: "if false then",
		Why: "who repeats a step, because its answer was lost, is told of a conflict", Profiles: []string{"kept"},
	},
	{
		Name: "a step is recorded anew", Guarantee: "G5", File: "engine/store/lua/step.lua",
		Old: "if recorded and not within(ANEW, state) then",
		New: "if recorded and not within(ANEW, state) and not within(FROM, state) then",
		Why: "a step that leads back to its own state is recorded twice, with different results", Profiles: []string{"kept"},
	},
	{
		Name: "who takes over starts blind", Guarantee: "G6", File: "engine/acquire.go",
		Old: "\tticket, err := e.store.Complete(ctx, c.ticket, m.Hash, nil)\n",
		New: "\tticket, err := e.store.Complete(ctx, c.ticket, m.Hash, nil)\n\tclear(ticket.Steps)\n",
		Why: "the next claim is not given what was recorded before", Profiles: []string{"kept"},
	},
	{
		Name: "a lost reply counts twice", Guarantee: "G5", File: "engine/store/lua/failure.lua",
		Old: "if applied(t[2], t[6]) then",
		New: "if false then",
		Why: "a failure that is sent again, because Redis' reply was lost, is counted again", Profiles: []string{"kept"},
	},
	{
		Name: "a reopened ticket keeps its steps", Guarantee: "G4", File: "engine/store/lua/reopen.lua",
		Old: "  if not within(keep, name) and not string.find(name, '^receipt_before%.') then",
		New: "  if not within(keep, name) and not string.find(name, '^receipt_before%.') and not string.find(name, '^record%.') then",
		Why: "a new run is not from the start: what the run before recorded stands as its own", Profiles: []string{"kept"},
	},
}
