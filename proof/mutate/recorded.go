// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package mutate

// recorded are rules of which records the audit has, besides those in told.
var recorded = []Mutation{
	{
		Name: "a break leaves no record", Guarantee: "G12", File: "engine/store/release.go",
		Old: "audit.Event{Kind: audit.Broken, Agent: by.Agent, Reason: why}",
		New: "audit.Event{}",
		Why: "that an administrator took an asset from its holder stands nowhere", Profiles: []string{"kept"},
	},
	{
		Name: "a reopening leaves no record", Guarantee: "G12", File: "engine/store/decide.go",
		Old: "audit.Event{Kind: audit.Reopened, Agent: by.Agent, Reason: why}",
		New: "audit.Event{}",
		Why: "that an administrator began a new run stands nowhere", Profiles: []string{"kept"},
	},
	{
		Name: "what is invalid leaves no record", Guarantee: "G12", File: "sockapi/router.go",
		Old: "\tc.api.Audit(a)\n",
		New: "\tif p.Code != client.Invalid {\n\t\tc.api.Audit(a)\n\t}\n",
		Why: "that somebody sent what is no right request stands nowhere", Profiles: []string{"kept"},
	},
	{
		Name: "a lost claim leaves no record", Guarantee: "G12", File: "engine/end.go",
		Old: "\te.config.Audit(told)\n",
		New: "",
		Why: "why a holder was told that his claim is lost stands nowhere", Profiles: []string{"kept"},
	},
	{
		Name: "an audit that is not waited for", Guarantee: "G12", File: "audit/recorder.go",
		Old: "\tcase <-a.done:\n\t\treturn nil\n\tcase <-ctx.Done():",
		New: "\tcase <-a.quit:\n\t\treturn nil\n\tcase <-ctx.Done():",
		Why: "a daemon that is stopped loses what is in its queue, as one that is killed", Profiles: []string{"kept"},
	},
	{
		Name: "an attempt leaves no record", Guarantee: "G12", File: "engine/store/attempt.go",
		Old: "\tcase proceed:\n\tcase done:",
		New: "\tcase proceed:\n\t\ta.Kind = \"\"\n\tcase done:",
		Why: "that people are about to be told stands nowhere", Profiles: []string{"kept"},
	},
	{
		Name: "a failed attempt leaves no record", Guarantee: "G12", File: "engine/store/attempt.go",
		Old: "\treturn audit.Undelivered\n",
		New: "\treturn \"\"\n",
		Why: "what became of an attempt stands nowhere", Profiles: []string{"kept"},
	},
	{
		Name: "nothing is required", Guarantee: "G11", File: "sockapi/decode.go",
		Old: "\t\tif f.required &&",
		New: "\t\tif false &&",
		Why: "a failure without an error is accepted", Profiles: []string{"kept"},
	},
}
