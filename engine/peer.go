// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import "github.com/picketd/picket/engine/process"

// Nobody is the kernel's overflow uid: a user who has no number in this user namespace. No peer has it.
const Nobody uint32 = 65534

// Peer is the agent's side of a connection, as the kernel told it when the connection was accepted.
type Peer struct {
	UID     uint32
	PID     int
	Groups  []uint32         // its groups when it connected
	Process *process.Process // nil when it could not be opened

	// Foreign: it cannot be shown to be of this host's PID and user namespaces. A pid that it names means nothing here, and its
	// root is not this host's.
	Foreign bool
	// Mapped: it cannot be shown to be of this host's user namespace, where one user may be 65,536.
	Mapped bool
}

// Owner is the user to whom the peer's claims belong: Nobody for a foreign root, who has no right to others' claims.
func (p Peer) Owner() uint32 {
	if p.Foreign && p.UID == 0 {
		return Nobody
	}
	return p.UID
}

// Account is the user whose limits the peer's calls count against. Mapped peers share Nobody's.
func (p Peer) Account() uint32 {
	if p.Mapped {
		return Nobody
	}
	return p.Owner()
}
