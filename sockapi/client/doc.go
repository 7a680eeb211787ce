// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package client is how a Go program talks to the daemon of its host, and the one place where the wire's types and codes are
// written down: the daemon imports them from here. It needs nothing but the standard library, and plain, which needs no more.
//
// What will bite a caller:
//
//   - A claim may be lost at any moment. It can be relied upon for TrustedMS, counted from before the call that answered it
//     was sent, and no longer, whatever the clock on the wall says. Watch it, or renew what you know by GetClaim.
//   - Without PID and Heartbeat a claim is bound to the process that connected, and ends with it.
//   - A write may have been applied though its answer was lost. Step, Notify, Finish and Release can be called again with the
//     same arguments; what was applied is answered as replayed. A Claim cannot: its lock stays until its TTL is over.
//   - An error answer is a *Problem; ask for it with errors.As and look at its Code. ErrUnreachable is the daemon not being
//     there at all.
//   - Facts come back as they were given, but for white space; fields that this version does not know are ignored.
package client
