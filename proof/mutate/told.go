// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package mutate

// told are rules of what the audit and the histories have.
var told = []Mutation{
	{
		Name: "an audit without refusals", Guarantee: "G12", File: "sockapi/router.go",
		Old: "\tc.api.Audit(a)\n",
		New: "\tif p.Code != client.StaleToken && p.Code != client.ClaimLost {\n\t\tc.api.Audit(a)\n\t}\n",
		Why: "that a writer was fenced off stands nowhere", Profiles: []string{"kept"},
	},
	{
		Name: "an audit without failures", Guarantee: "G12", File: "engine/store/tell.go",
		Old: "if tell(r, &told); told.Kind != \"\" {",
		New: "if tell(r, &told); told.Kind != \"\" && told.Kind != audit.Failure {",
		Why: "a write that was accepted has no record", Profiles: []string{"kept"},
	},
	{
		Name: "a release leaves no event", Guarantee: "G12", File: "engine/store/lua/release.lua",
		Old: "local revision = append(LOG, t[4], EVENT, state, state, TOKEN, '', REASON, HOST, AGENT)",
		New: "local revision = t[4]",
		Why: "a ticket's history lacks what was done", Profiles: []string{"kept"},
	},
}
