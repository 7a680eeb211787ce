// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/picketd/picket/agent/assets"
)

// pattern is which assets an entry is about: a network, or a name with * for any letters.
type pattern struct {
	network netip.Prefix
	parts   []string // what stands between the stars; one: no star
}

// newPattern reads a pattern; wrong says why it is none.
func newPattern(text string) (p pattern, wrong string) {
	if network, err := netip.ParsePrefix(text); err == nil {
		if network != network.Masked() {
			return p, fmt.Sprintf("is an address within a network: write %s, or %s", network.Masked(), network.Addr())
		}
		return pattern{network: network}, ""
	}
	if before, _, ok := strings.Cut(text, "/"); ok {
		if _, err := netip.ParseAddr(strings.TrimSpace(before)); err == nil {
			return p, "is no network: write its first address and a number of bits, such as 10.0.0.0/8"
		}
	}
	if strings.TrimSpace(text) != text {
		return p, "has spaces around it: take them away"
	}
	if wrong := assets.Check(text); wrong != "" {
		return p, wrong
	}
	if !strings.Contains(text, "*") {
		return pattern{parts: []string{assets.Canonical(text)}}, ""
	}
	if strings.Contains(text, ".") && !strings.Contains(text, "/") { // a name with a dot is in lower case (assets.Canonical)
		text = strings.ToLower(text)
	}
	return pattern{parts: strings.Split(text, "*")}, ""
}

// meets says whether the pattern is about an asset.
func (p pattern) meets(s subject) bool {
	if p.network.IsValid() {
		return s.addr.IsValid() && p.network.Contains(s.addr)
	}
	last := len(p.parts) - 1
	rest, ok := strings.CutPrefix(s.name, p.parts[0])
	if last == 0 {
		return ok && rest == ""
	}
	for _, part := range p.parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		rest, ok = after, ok && found
	}
	return ok && strings.HasSuffix(rest, p.parts[last])
}
