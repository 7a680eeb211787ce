// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import "github.com/coreos/go-systemd/v22/journal"

// Kind is what a record tells.
type Kind string

// The kinds that engine and sockapi tell. What each means to an operator stands in packaging/picket.catalog.
const (
	Claimed     Kind = "claimed"
	Step        Kind = "step"
	Failure     Kind = "failure"
	Failed      Kind = "failed"
	Notifying   Kind = "notifying"
	Finished    Kind = "finished"
	Released    Kind = "released"
	Replayed    Kind = "replayed"    // a write that was recorded before
	Refused     Kind = "refused"     // a write that changed nothing
	Unconfirmed Kind = "unconfirmed" // a write that Redis did not answer: it may have landed, or land yet
	Lost        Kind = "lost"

	Unreplicated Kind = "unreplicated" // a write that counts though too few replicas have it

	Attempt     Kind = "attempt"
	Receipt     Kind = "receipt"
	Undelivered Kind = "undelivered" // an attempt that failed or of which nothing is known; the channel is not settled
	Parked      Kind = "parked"
	Dead        Kind = "dead"
	Inherited   Kind = "inherited" // this daemon delivers for one that is gone

	Broken    Kind = "broken"
	Forced    Kind = "forced"
	Reopened  Kind = "reopened"
	Retried   Kind = "retried"
	Discarded Kind = "discarded"
	Settled   Kind = "settled"
	Tested    Kind = "tested"  // an administrator sent a test message
	Retired   Kind = "retired" // and had a host leave that is gone for good
)

// The kinds that are the daemon's own.
const (
	Started        Kind = "started"
	Stopped        Kind = "stopped"
	ConfigLoaded   Kind = "config_loaded"
	ConfigReloaded Kind = "config_reloaded"
	ConfigRefused  Kind = "config_refused"
	Dropped        Kind = "dropped"
	Alarm          Kind = "alarm"    // what trust rests on is not as it was
	Refusals       Kind = "refusals" // more of them than are told one by one
)

// meaning is what is always the same of a kind of record.
type meaning struct {
	id       string // MESSAGE_ID: made at random once, and never changed; packaging/picket.catalog has a text for each
	priority journal.Priority
	says     string // a sentence, with the names that Record.word knows
}

var meanings = map[Kind]meaning{
	Claimed:     {"7826b8a200de6fe9220c13dac5f74d4d", journal.PriInfo, "$ticket is claimed by $agent with token $token"},
	Step:        {"5db65ae6bfe2bcfa90612e3d582fe563", journal.PriInfo, "$ticket: step $step is recorded, $from → $to"},
	Failure:     {"c8c0fa37781392fb58ef2925e3648911", journal.PriNotice, "$ticket: step $step failed and may be tried again"},
	Failed:      {"6b55704003a68215c4a92a1d973e53f4", journal.PriWarning, "$ticket: step $step failed for good, $from → $to"},
	Notifying:   {"38e29aaf4f9d560d472796bee7dce641", journal.PriNotice, "$ticket: a notification is accepted, $from → $to"},
	Finished:    {"4511d0031856bc5cb3e5e77d0690fb44", journal.PriInfo, "$ticket is finished, $from → $to$why"},
	Released:    {"ddea68e8b6b8318be15e8c916b0789fc", journal.PriInfo, "$ticket: $agent lets go of its claim$why"},
	Replayed:    {"cf95f861d139f9698edf75c372562678", journal.PriInfo, "$ticket: $call again, as it is recorded already"},
	Refused:     {"683a5783539e3ceaa410c4deb06d6000", journal.PriWarning, "$ticket: $call by $agent is refused, $code$why"},
	Unconfirmed: {"4b77837c5371cb81fd862f206c4e2d3a", journal.PriWarning, "$ticket: whether $call by $agent was applied is not known$why"},
	Lost:        {"2dea4c0df39c0b4bbbe9337f52b8c4ad", journal.PriWarning, "$ticket: the claim of $agent with token $token is lost$why"},

	Unreplicated: {"a5b1c7d0e2f34c9f8f8b6d0a4f3e9c61", journal.PriWarning, "$ticket: too few replicas of Redis have what was written, and it counts all the same$why"},

	Attempt:     {"2808936a6b55a68899de2999bb90e9b0", journal.PriInfo, "$ticket: the notification is sent on $channel"},
	Receipt:     {"0905de27bf82d1a946d20ffa9ca1901d", journal.PriInfo, "$ticket: the notification is accepted on $channel, $from → $to"},
	Undelivered: {"2ae9610b755ba0d7d1dd5da50bab70b8", journal.PriWarning, "$ticket: the notification was not accepted on $channel for now$why"},
	Parked:      {"3b04aae5ba8eb929f4738caff1480d21", journal.PriWarning, "$ticket: the notification on $channel waits for a person$why"},
	Dead:        {"f8098fd0bc73b5fbd86e8a70ecf5657a", journal.PriErr, "$ticket: the notification on $channel is given up$why"},
	Inherited:   {"a0f75d665d0363995bb3d5f4789ddd9a", journal.PriWarning, "$ticket: this daemon delivers the notification of one that is gone$why"},

	Broken:    {"b830564de97ed8e9a23d12dfc8488d0d", journal.PriWarning, "$ticket: $agent breaks the lock$why"},
	Forced:    {"83923684af0771db323155fd2c79efca", journal.PriWarning, "$ticket: $agent ends the claim with token $token"},
	Reopened:  {"92c15057999413c356ff5f8dcb2ad969", journal.PriNotice, "$ticket: $agent begins a new run, $from → $to$why"},
	Retried:   {"961e73def4ab2257c53bc3cc3cddcc84", journal.PriNotice, "$ticket: $agent has the notification sent again on $channel$why"},
	Discarded: {"e8a12e1d9a74a1184a28a030d8254451", journal.PriNotice, "$ticket: $agent gives the notification on $channel up$why"},
	Settled:   {"5b9ea894cdc3ef7a66ac83102fffc250", journal.PriNotice, "$ticket: $agent says that the notification did arrive on $channel$why"},
	Tested:    {"051c8d8bc2683c1524f5643d21fc3749", journal.PriNotice, "$agent sends a test message on $channel$why"},
	Retired:   {"7d0f2c6b1a9e4f35b8c4e0a6d95b3f18", journal.PriWarning, "$agent has a host leave that is gone for good$why"},

	Started:        {"623aba5874d8ef8cef34ba05005ff6ae", journal.PriNotice, "the daemon is started$why"},
	Stopped:        {"db24843535902fcde4eb1505317bb82d", journal.PriNotice, "the daemon is stopped"},
	ConfigLoaded:   {"315c9ba7401e75ab2364372f7a3c2d69", journal.PriNotice, "the configuration is loaded$why"},
	ConfigReloaded: {"1c164b021dd6f4e135fb304bc42c3227", journal.PriNotice, "the configuration is read again$why"},
	ConfigRefused:  {"83baf2f0bb5a01e01fb821349522a25d", journal.PriErr, "a wrong configuration is refused$why"},
	Refusals:       {"dbbcade086504c71979cb54350b847d2", journal.PriWarning, "calls of $agent are refused, $code$why"},
	Alarm:          {"c2d9f4b86a1740d59a3be0f7715c2e84", journal.PriErr, "what trust rests on is not as it was$why"},
	Dropped:        {"8939400069c8f0a5a247f9bc013c1540", journal.PriErr, "audit records are missing: $lost"},
}
