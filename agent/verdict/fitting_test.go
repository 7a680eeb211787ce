// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
)

// TestLinksGoFirst: where a list has no room for all findings, it has none for links.
func TestLinksGoFirst(t *testing.T) {
	t.Parallel()
	long := "https://example.com/" + strings.Repeat("x", 300)
	var all []findings.Finding
	for i := range 2000 {
		all = append(all, findings.Finding{ID: fmt.Sprintf("CVE-2019-%05d", i), Severity: "high", CVSS: 7.5, FixedIn: "2", URL: long})
	}
	if list, omitted := Fitting(all, maxListed); omitted != 0 || len(list) != len(all) || list[0].URL != "" || list[0].FixedIn != "2" {
		t.Errorf("%d are left out, the first is %+v", omitted, list[0])
	}
	if list, omitted := Fitting(all[:100], maxListed); omitted != 0 || list[0].URL != long {
		t.Errorf("of few: %d are left out, the first is %+v", omitted, list[0])
	}
	if all[0].URL != long {
		t.Error("the list that was given is changed")
	}
}
