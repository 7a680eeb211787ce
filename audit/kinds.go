// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

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
	Tested    Kind = "tested" // an administrator sent a test message
)

// The kinds that are the daemon's own.
const (
	Started        Kind = "started"
	Stopped        Kind = "stopped"
	ConfigLoaded   Kind = "config_loaded"
	ConfigReloaded Kind = "config_reloaded"
	ConfigRefused  Kind = "config_refused"
	Dropped        Kind = "dropped"
	Refusals       Kind = "refusals" // more of them than are told one by one
)
