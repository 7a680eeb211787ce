// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package channel is the ways to notify: what the configuration may say of each type, the body that a message becomes, and one
// attempt to send it.
//
// A type is a row of the table in kinds.go, and a file of its own. A channel's configuration is checked here and nowhere else, by
// what makes the channel of it: Check tells all that is wrong at once, New makes what can be used.
//
// # What is frozen
//
// Render makes the body once, when the notification is accepted; it is the same on every attempt and from every host. Per attempt
// a Sender adds no more than what the receiver demands: a time and a signature, in headers (webhook), in the URL (dingtalk), or
// before the first field of the body (feishu). Text for people is in the channel's language, tamed for its receiver and cut to what
// that takes, and has the notification's short id.
//
// # What will bite
//
// A Sender knows nothing of leases, backoff and records: package notifier decides whether and when there is another attempt. No
// error that leaves this package holds a secret of the configuration, whatever the receiver answers.
package channel
