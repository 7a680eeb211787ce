// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"net/netip"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/findings"
)

// rule is one acceptance, or one statement of VEX about one product.
type rule struct {
	id      string
	names   []string // of the vulnerability: its id and aliases
	meets   func(subject, findings.Finding) bool
	accepts bool
	vex     bool
	until   string    // the last day, as it is told
	over    time.Time // when it has ended; zero: never
	made    time.Time // of VEX
	by      string
	reason  string

	file, number int    // which file, and which entry of it, or product of a statement
	source       string // the same for people
	about        string // of VEX, the product
}

// subject is an asset whose findings are looked at.
type subject struct {
	name string
	addr netip.Addr // its host, where that is an address
}

func subjectOf(asset string) subject {
	s := subject{name: assets.Canonical(asset)}
	s.addr, _ = netip.ParseAddr(findings.HostOf(asset))
	return s
}
