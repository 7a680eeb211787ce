// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
)

// Sizes within the API's limit on facts, in bytes.
const (
	maxListed    = 384 << 10 // of the findings in the facts of vuln; those of intel may have maxAnnotated, for they grow
	MaxAnnotated = 448 << 10
	maxOmitted   = 96 << 10 // of the CVEs of findings that are not listed
)

// Fitting cuts a list to a number of bytes as JSON, and tells how many were left out. Where there is no room for all, there is
// none for their links.
func Fitting(all []findings.Finding, room int) (list []findings.Finding, omitted int) {
	if list, omitted = filling(all, room); omitted == 0 {
		return list, 0
	}
	bare := slices.Clone(all)
	for i := range bare {
		bare[i].URL = ""
	}
	return filling(bare, room)
}

func filling(all []findings.Finding, room int) (list []findings.Finding, omitted int) {
	for i, f := range all {
		b, err := plain.JSON(f)
		if room -= len(b) + 1; err != nil || room < 0 {
			return all[:i], len(all) - i
		}
	}
	return slices.Clip(append([]findings.Finding{}, all...)), 0
}

// identity is what makes a finding the same in the next scan.
func identity(f findings.Finding) string { return f.Identity() }

// digest tells whether two scans found the same, in any order.
func digest(all []findings.Finding) string {
	ids := make([]string, len(all))
	for i, f := range all {
		ids[i] = identity(f)
	}
	slices.Sort(ids)
	h := sha256.New()
	for _, id := range slices.Compact(ids) {
		fmt.Fprintf(h, "%d:%s", len(id), id)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
