// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// fuzz holds what is true of any input: no panic; an error and no findings, or findings that are whole; and of a JSON
// document that is taken, no part is.
func fuzz(f *testing.F, format string) {
	for _, s := range samples {
		if s.format == format {
			f.Add(sample(f, s.file), uint(100))
		}
	}
	f.Add([]byte("null"), uint(2))
	f.Fuzz(func(t *testing.T, in []byte, cut uint) {
		report, err := Read(context.Background(), format, bytes.NewReader(in), []int{0, 1})
		list := report.Findings
		if err != nil {
			if list != nil || report.Ended {
				t.Fatalf("%d findings beside an error", len(list))
			}
			return
		}
		for _, found := range list {
			if found.ID == "" || rank(found.Severity) < 0 || len(found.Title) > maxTitle || len(found.ID) > maxID {
				t.Fatalf("not whole: %+v", found)
			}
			if found.Vector != "" && found.CVSS > 0 || link(found.URL) != found.URL || found.Identity() == "" {
				t.Fatalf("not whole: %+v", found)
			}
			if !(found.CVSS >= 0 && found.CVSS <= 10) || !(found.EPSS >= 0 && found.EPSS <= 1) {
				t.Fatalf("not a score: %+v", found)
			}
		}
		for _, cve := range report.CVEs() {
			if cveIn(cve) != cve {
				t.Fatalf("no CVE: %q", cve)
			}
		}
		Sort(list)
		whole := bytes.TrimSpace(in)
		document := format != "nmap" && (format != "nuclei" || bytes.HasPrefix(whole, []byte("[")))
		if marked := slices.ContainsFunc([]string{"\xff\xfe", "\xfe\xff", "\xef\xbb\xbf"}, func(mark string) bool {
			return bytes.HasPrefix(in, []byte(mark))
		}); marked || !document || len(whole) < 2 {
			return
		}
		cut = 1 + cut%uint(len(whole)-1)
		if list, err := Parse(format, bytes.NewReader(whole[:cut])); err == nil {
			t.Fatalf("cut at %d of %d: %d findings and no error", cut, len(whole), len(list))
		}
	})
}

func FuzzParseNuclei(f *testing.F)   { fuzz(f, "nuclei") }
func FuzzParseTrivy(f *testing.F)    { fuzz(f, "trivy") }
func FuzzParseGrype(f *testing.F)    { fuzz(f, "grype") }
func FuzzParseNmap(f *testing.F)     { fuzz(f, "nmap") }
func FuzzParseOSV(f *testing.F)      { fuzz(f, "osv") }
func FuzzParseSARIF(f *testing.F)    { fuzz(f, "sarif") }
func FuzzParseFindings(f *testing.F) { fuzz(f, "findings") }

// FuzzVector: what is read is a base score, what is not is told, and the order of the metrics changes nothing.
func FuzzVector(f *testing.F) {
	f.Add("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/SC:N/VI:H/SI:N/VA:H/SA:N")
	f.Add("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/")
	f.Add("(AV:N/AC:L/Au:N/C:C/I:C/A:C)")
	f.Fuzz(func(t *testing.T, vector string) {
		var s scores
		s.add("", 0, vector)
		if !(s.best() >= 0 && s.best() <= 10) {
			t.Fatalf("%q: %v", vector, s.best())
		}
		score, _, ok := baseScore(vector, "")
		vector = strings.ToUpper(vector)
		prefix := vectorPrefix.FindString(vector)
		if !ok || prefix == "" || strings.ContainsAny(vector, `()[]"'`) {
			return
		}
		parts := strings.Split(vector[len(prefix):], "/")
		slices.Reverse(parts)
		if again, _, _ := baseScore(prefix+strings.Join(parts, "/"), ""); again != score {
			t.Fatalf("%q: %v, in another order %v", vector, score, again)
		}
	})
}

// FuzzPlace: any place has something that lasts.
func FuzzPlace(f *testing.F) {
	f.Add("https://u@h/tmp/x/0f8fad5b-d9cb-469f-a165-70867728950e?a=b#c")
	f.Add(`C:\\Temp\\a1\\pom.xml:3`)
	f.Fuzz(func(t *testing.T, place string) { _ = Finding{Location: place}.Identity() })
}

// FuzzEPSS: no row that is none is taken.
func FuzzEPSS(f *testing.F) {
	f.Add([]byte(epssSample))
	f.Fuzz(func(t *testing.T, in []byte) {
		var e EPSS
		if e.read(bytes.NewReader(in)) != nil {
			return
		}
		for _, r := range e.rows {
			if !(r.score >= 0 && r.score <= 1) {
				t.Fatalf("not a score: %v", r.score)
			}
		}
	})
}

// FuzzKEV: a catalogue that is taken has a date that is no day to come, and as many CVEs as it says or fewer.
func FuzzKEV(f *testing.F) {
	f.Add([]byte(`{"title":"KEV","dateReleased":"2025-08-25T17:04:19.0000Z","count":1,"vulnerabilities":[{"cveID":"CVE-2021-44228","vendorProject":"Apache"}]}`))
	f.Add([]byte(`{"count":2,"vulnerabilities":[{"cveID":"cve-2021-44228"},{"cveID":"CVE-2021-44228"}],"dateReleased":"2025-08-25T17:04:19Z"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		k := KEV{cves: map[string]struct{}{}}
		if k.read(bytes.NewReader(in)) != nil {
			return
		}
		if len(k.cves) == 0 || k.date.IsZero() || k.date.After(time.Now().Add(48*time.Hour)) {
			t.Fatalf("%d CVEs of %s", len(k.cves), k.date)
		}
		for cve := range k.cves {
			if cveIn(cve) != cve || !k.Has(cve) {
				t.Fatalf("no CVE: %q", cve)
			}
		}
	})
}
