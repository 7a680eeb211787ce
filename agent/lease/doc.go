// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package lease tells a program for how long it may rely on a claim, and ends the work under it in time.
//
// The trust in a claim ends at a deadline on CLOCK_BOOTTIME, which goes on while the machine sleeps. It is counted from when the
// last watch call was sent (see Watch). What runs under the claim is asked to end at the deadline, or as soon as the daemon says
// that the claim is lost, and killed soon after: before anybody else can hold the lock (client.Trust).
//
// A call that fails may have been applied all the same. Transient says whether it may be made again.
package lease
