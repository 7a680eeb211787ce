// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package mutate

// notifications are rules of who is told, and when.
var notifications = []Mutation{
	{
		Name: "accepted before it is committed", Guarantee: "G9", File: "engine/delivery/accept.go",
		Old: "\t\tif err = c.box.Commit(in.Ref); err == nil {\n\t\t\tc.current.confirm(in.ID, asked)\n\t\t}",
		New: "\t\tc.current.confirm(in.ID, asked)",
		Why: "it is accepted while it is only staged: when Redis loses the ticket, nobody sends it", Profiles: []string{"lost"},
	},
	{
		Name: "staged is as good as committed", Guarantee: "G10", File: "outbox/intents.go",
		Old: "\t\tt.insert(in, Staged)",
		New: "\t\tt.insert(in, Committed)",
		Why: "it is sent although Redis may refuse the ticket's NOTIFYING", Profiles: []string{"kept"},
	},
	{
		Name: "no attempt has a lease", Guarantee: "G10", File: "engine/store/lua/attempt.lua",
		Old: "if not replay and status == 'sending' and left > 0 then",
		New: "if not replay and status == 'sending' and left < 0 then",
		Why: "two hosts that have the same notification send at once", Profiles: []string{"kept"},
	},
	{
		Name: "a doubtful answer is a refusal", Guarantee: "G10", File: "notifier/outcome.go",
		Old: "case j.d.AtMostOnce && (r.Status == outbox.Unknown || r.Doubtful):",
		New: "case j.d.AtMostOnce && r.Status == outbox.Unknown:",
		Why: "what may have arrived on an at_most_once channel is sent again", Profiles: []string{"kept"},
	},
	{
		Name: "what is unknown is sent by another", Guarantee: "G10", File: "engine/store/lua/attempt.lua",
		Old: "if once and not replay and status ~= 'pending' then",
		New: "if once and not replay and status == 'parked' then",
		Why: "a host that has an at_most_once notification too sends it when nobody knows whether the first one's arrived", Profiles: []string{"kept"},
	},
	{
		Name: "a key without the run", Guarantee: "G9", File: "engine/store/asset.go",
		Old: "\tif run >= 2 {",
		New: "\tif run < 0 {",
		Why: "a receiver takes the notification of a reopened ticket for one that it had", Profiles: []string{"kept"},
	},
	{
		Name: "a receipt of another run settles", Guarantee: "G9", File: "outbox/receipts.go",
		Old: "if d := in.Channels[channel]; in.Run == run && d.Status == Sent {",
		New: "if d := in.Channels[channel]; d.Status == Sent {",
		Why: "what a reopened ticket tells is not sent, because its first run was", Profiles: []string{"kept"},
	},
	{
		Name: "one channel is enough", Guarantee: "G9", File: "engine/store/lua/end_notifying.lua",
		Old: "    elseif status ~= 'discarded' then",
		New: "    elseif status ~= 'discarded' and sent == 0 then",
		Why: "a ticket is NOTIFIED when the first channel has it, and the others are told nothing", Profiles: []string{"kept"},
	},
	{
		Name: "a failing receiver is given up", Guarantee: "G9", File: "notifier/channel/post.go",
		Old: "\tcase code == 409, code >= 500:",
		New: "\tcase code == 409, code >= 600:",
		Why: "a receiver that answers 500 for a moment is never told", Profiles: []string{"kept"},
	},
	{
		Name: "a busy receiver is given up", Guarantee: "G9", File: "notifier/channel/post.go",
		Old: "\tcase code == 407, code == 408, code == 425, code == 429, code == 503:",
		New: "\tcase code == 407, code == 408, code == 425, code == 503:",
		Why: "who answers 429 for a moment is told only if a person asks for it", Profiles: []string{"kept"},
	},
	{
		Name: "a redirect is an acceptance", Guarantee: "G9", File: "notifier/channel/post.go",
		Old: "\tcase code >= 200 && code < 300:",
		New: "\tcase code >= 200 && code < 400:",
		Why: "a receiver that has moved is never told", Profiles: []string{"kept"},
	},
	{
		Name: "what is told counts as failed", Guarantee: "G9", File: "engine/store/lua/end_notifying.lua",
		Old: "local state = sent > 0 and dead == 0 and NOTIFIED or FAILED",
		New: "local state = sent > 9 and dead == 0 and NOTIFIED or FAILED",
		Why: "a ticket of which all have been told is FAILED", Profiles: []string{"kept"},
	},
	{
		Name: "anything can be settled", Guarantee: "G9", File: "engine/delivery/decide.go",
		Old: "t, err := c.decide(ctx, r, outbox.Sent, settleable, audit.Settled)",
		New: "t, err := c.decide(ctx, r, outbox.Sent, discardable, audit.Settled)",
		Why: "what was not tried yet counts as arrived by the word of a person who cannot know", Profiles: []string{"kept"},
	},
	{
		Name: "receivers get no text", Guarantee: "G9", File: "engine/delivery/accept.go",
		Old: "Title: n.Title, Text: n.Text, Severity",
		New: "Title: n.Title, Severity",
		Why: "people are told the title alone of what was accepted", Profiles: []string{"kept"},
	},
	{
		Name: "nobody takes over", Guarantee: "G9", File: "engine/delivery/loops.go",
		Old: "c.heedLoop, c.takeOverLoop, c.walkLoop",
		New: "c.heedLoop, c.walkLoop",
		Why: "what a host had accepted that never comes back is told to nobody", Profiles: []string{"kept"},
	},
	{
		Name: "heirs are in no hurry", Guarantee: "G9", File: "engine/lookout/sign.go",
		Old: "Late: l.Pace.Life + l.Pace.Missed,",
		New: "Late: 5 * l.Pace.Life,",
		Why: "what a host had accepted that never comes back is told minutes later", Profiles: []string{"kept"},
	},
	{
		Name: "an adopter sends other words", Guarantee: "G9", File: "engine/delivery/answer.go",
		Old: "Body: h.Body(ch.Name), Status: outbox.Pending",
		New: "Body: []byte(h.Content()), Status: outbox.Pending",
		Why: "another host sends another body under the same key", Profiles: []string{"kept"},
	},
	{
		Name: "receipts are kept nowhere but in Redis", Guarantee: "G10", File: "notifier/outcome.go",
		Old: "\terr := record()\n\tvar closed bool",
		New: "\terr := error(nil)\n\tvar closed bool",
		Why: "what Redis loses after it arrived is sent again", Profiles: []string{"lost"},
	},
	{
		Name: "what a ticket said long ago counts", Guarantee: "G10", File: "engine/delivery/attempt.go",
		Old: "&& !c.Fresh(a, asked):",
		New: "&& !c.Fresh(a, asked) && !c.config.Trust.Unbroken(staged):",
		Why: "while Redis is away it is sent for as long as that lasts, whatever an administrator decided meanwhile", Profiles: []string{"kept"},
	},
	{
		Name: "the living are taken for dead", Guarantee: "G10", File: "engine/lookout/sign.go",
		Old: "Late: l.Pace.Life + l.Pace.Missed,",
		New: "Late: l.Pace.Every / 2,",
		Why: "a daemon takes over from one that lives", Profiles: []string{"kept"},
	},
	{
		Name: "no replica is waited for", Guarantee: "G2", File: "engine/store/replicas.go",
		Old: "func (r Replicas) waitOn(ctx context.Context, pipe redis.Pipeliner) func() error {\n\tif r.Number == 0 {",
		New: "func (r Replicas) waitOn(ctx context.Context, pipe redis.Pipeliner) func() error {\n\tif r.Number >= 0 {",
		Why: "a failover loses a grant that an agent was answered", Topologies: []string{"sentinel", "cluster"}, Profiles: []string{"waited"},
	},
}
