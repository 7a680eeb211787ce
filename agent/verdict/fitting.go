// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// digest tells whether two scans found the same, in any order.
func digest(all []findings.Finding) string {
	ids := make([]string, len(all))
	for i, f := range all {
		ids[i] = f.Identity()
	}
	slices.Sort(ids)
	h := sha256.New()
	for _, id := range slices.Compact(ids) {
		fmt.Fprintf(h, "%d:%s", len(id), id)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// cveSet are many CVEs in little room: by year, their numbers with ranges, as {"2021": "44228,45046-45105"}.
type cveSet map[string]Places

// newCVESet makes a set of CVEs, each once. Those for which there is no room, in bytes as JSON, are counted.
func newCVESet(ids []string, room int) (set cveSet, left int) {
	years := map[string][]uint64{}
	for _, id := range ids {
		year, number, _ := strings.Cut(strings.TrimPrefix(id, "CVE-"), "-")
		n, err := strconv.ParseUint(number, 10, 63)
		if err != nil {
			left++
			continue
		}
		years[year] = append(years[year], n)
	}
	set = cveSet{}
	for _, year := range slices.Backward(slices.Sorted(maps.Keys(years))) { // what is new is exploited more often
		numbers := years[year]
		slices.Sort(numbers)
		var text strings.Builder
		room -= len(year) + len(`"":"",`)
		for i := 0; i < len(numbers); {
			last := i
			for last+1 < len(numbers) && numbers[last+1] <= numbers[last]+1 {
				last++
			}
			part := fmt.Sprintf(",%04d", numbers[i])
			if numbers[last] > numbers[i] {
				part += fmt.Sprintf("-%04d", numbers[last])
			}
			if room -= len(part); room < 0 {
				left += len(numbers) - i
				break
			}
			text.WriteString(part)
			i = last + 1
		}
		if text.Len() > 0 {
			set[year] = Places(text.String()[1:])
		}
	}
	return set, left
}

// cves are those of the set, in order.
func (s cveSet) cves() []string {
	var all []string
	for _, year := range slices.Sorted(maps.Keys(s)) {
		for n := range s[year].All() {
			all = append(all, fmt.Sprintf("CVE-%s-%04d", year, n))
		}
	}
	return all
}
