// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package lookout knows what trust rests on. It tells; it decides nothing.
//
// Every 10 s it looks whether each master's data set is the one it was (incarnation.go), whether the tickets that this host wrote last
// are as it left them (written.go), whether this host's clock and Redis' run alike and are not set (clock.go), and how full Redis is.
// Whenever an asset is read it sees whether the asset's token goes back (token.go). What a person must know becomes an alarm (alarm.go).
//
// Every 5 s it gives this daemon's sign of life. It says whether that was given without a break, so that others may be judged by theirs;
// who of them has given none for too long; and whether another process gives this daemon's, too, from a copy of the outbox (sign.go).
// One script does all that, in time that does not grow with the fleet.
package lookout
