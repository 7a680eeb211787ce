// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"slices"
	"testing"
)

func TestASetOfCVEsIsWhatWasPutIn(t *testing.T) {
	t.Parallel()
	ids := []string{"CVE-1999-0001", "CVE-2020-0002", "CVE-2020-0003", "CVE-2020-0004", "CVE-2020-12345", "CVE-2021-1000001"}
	set, left := newCVESet(ids, 1000)
	if got := set.cves(); left != 0 || !slices.Equal(got, ids) || set["2020"] != "0002-0004,12345" {
		t.Errorf("%v, %d left out: %v", set, left, got)
	}
	if set, left := newCVESet(ids, 40); left != 2 || len(set.cves()) != 4 || set["2021"] == "" {
		t.Errorf("with little room %v, %d left out", set, left)
	}
	if n := len(cveSet{"2020": "1-9999999999"}.cves()); n > maxRange {
		t.Errorf("a range of somebody else stands for %d", n)
	}
}
