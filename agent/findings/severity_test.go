// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"slices"
	"strings"
	"testing"
)

func TestSeverityWords(t *testing.T) {
	t.Parallel()
	for want, words := range map[string]string{
		"critical": "critical CRITICAL Critical 9.0 10",
		"high":     "high High important ERROR 7 8.9",
		"medium":   "medium Moderate MODERATE warning 4 6.9",
		"low":      "low LOW note 0.1 3.9",
		"info":     "info Informational information negligible none 0 unimportant",
		"unknown":  "unknown undefined untriaged 11 -1 NaN hihg",
	} {
		for _, word := range strings.Fields(words) {
			if got := severity(" " + word + " "); got != want {
				t.Errorf("%s: got %s, want %s", word, got, want)
			}
		}
	}
	if got := severity(""); got != "unknown" {
		t.Errorf("no word: got %s", got)
	}
}

// TestBaseScore takes vectors and scores from the examples of FIRST and from NVD.
func TestBaseScore(t *testing.T) {
	t.Parallel()
	for vector, want := range map[string]float64{
		"AV:N/AC:L/Au:N/C:N/I:N/A:C":                                                7.8, // CVE-2002-0392, v2 guide 3.3.1
		"AV:N/AC:L/Au:N/C:C/I:C/A:C":                                                10,  // CVE-2003-0818
		"(AV:L/AC:H/Au:N/C:C/I:C/A:C)":                                              6.2, // CVE-2003-0062
		"AV:N/AC:M/Au:N/C:N/I:N/A:P/E:POC/RL:OF/RC:C":                               4.3,
		"CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N":                              6.1, // CVE-2013-1937
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N":                              7.5, // CVE-2014-0160
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H":                              10,  // CVE-2021-44228
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/E:U/RL:O/RC:U":                9.8, // base, not temporal
		"CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:H/SI:H/SA:H":           10,
		"CVSS:4.0/AV:L/AC:L/AT:P/PR:L/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N":           7.3, // CVE-2022-41741
		"CVSS:4.0/AV:N/AC:L/AT:P/PR:N/UI:P/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N/E:U/MAV:P": 7.7, // base only, CVE-2020-3549
		"CVSS:3.1/AV:N":              0,
		"CVSS:5.0/AV:N":              0,
		"":                           0,
		"9.8":                        0,
		"AV:N/AC:L/Au:N/C:X/I:N/A:C": 0,
	} {
		if got, _, _ := baseScore(vector, ""); got != want {
			t.Errorf("%s: got %v, want %v", vector, got, want)
		}
	}
}

func TestNewerScoresCountBeforeVersion2(t *testing.T) {
	t.Parallel()
	var s scores
	s.add("2.0", 10, "")
	if s.best() != 10 {
		t.Errorf("version 2 alone: got %v", s.best())
	}
	s.add("3.1", 7.5, "")
	s.add("", 0, "CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N")
	s.add("", 0, "AV:N/AC:L/Au:N/C:C/I:C/A:C")
	s.add("3.1", 11, "")
	if s.best() != 7.5 {
		t.Errorf("with version 3: got %v, want 7.5", s.best())
	}
}

func TestSort(t *testing.T) {
	t.Parallel()
	want := []Finding{
		{ID: "a", Severity: "critical", KEV: true},
		{ID: "b", Severity: "critical", CVSS: 10},
		{ID: "c", Severity: "critical", CVSS: 9.8, EPSS: 0.5},
		{ID: "d", Severity: "critical", CVSS: 9.8, EPSS: 0.1},
		{ID: "e", Severity: "high", CVSS: 9.9, Location: "1"},
		{ID: "e", Severity: "high", CVSS: 9.9, Location: "2"},
		{ID: "a", Severity: "medium"},
		{ID: "a", Severity: "low"},
		{ID: "a", Severity: "unknown"},
		{ID: "a", Severity: "info", KEV: true},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	Sort(got)
	for i := range want {
		if show(got[i]) != show(want[i]) {
			t.Errorf("at %d: got %s, want %s", i, show(got[i]), show(want[i]))
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"CVE-2021-44228":         "CVE-2021-44228",
		"cve-2021-44228":         "CVE-2021-44228",
		"UBUNTU-CVE-2024-1234":   "CVE-2024-1234",
		"CVE-2021-1234-libc6":    "CVE-2021-1234",
		"CVE-2021-123":           "",
		"NOTCVE-2021-1234":       "",
		"GHSA-jfh8-c2jp-5v3q":    "",
		"CVE-2021-1234567890123": "CVE-2021-1234567890123",
	} {
		if got := cveIn(id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

func TestDuplicatesAreMerged(t *testing.T) {
	t.Parallel()
	list, err := Parse("findings", strings.NewReader(`{"findings":[
		{"id":"CVE-2020-0001","severity":"low","package":"p","location":"l","title":"one","aliases":["a"]},
		{"id":"CVE-2020-0002","severity":"low"},
		{"id":"cve-2020-0001","severity":"high","cvss":7.1,"package":"p","location":"l","title":"two","aliases":["b","a"],"kev":true,"epss":0.3},
		{"id":"CVE-2020-0001","package":"p","location":"m"},
		{"id":"rule","title":"one"},{"id":"rule","title":"two"},{"id":"rule","title":"two"}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range list {
		got = append(got, show(f))
	}
	want := []string{
		"CVE-2020-0001 high 7.1 epss 0.3 kev | one | p | l | a,b", "CVE-2020-0002 low | | | |", "CVE-2020-0001 unknown | | p | m |",
		"rule unknown | one | | |", "rule unknown | two | | |",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
