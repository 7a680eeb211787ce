// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"slices"
	"testing"
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
		list, err := Parse(format, bytes.NewReader(in))
		if err != nil {
			if list != nil {
				t.Fatalf("%d findings beside an error", len(list))
			}
			return
		}
		for _, found := range list {
			if found.ID == "" || rank(found.Severity) < 0 || len(found.Title) > maxTitle || len(found.ID) > maxID {
				t.Fatalf("not whole: %+v", found)
			}
			if !(found.CVSS >= 0 && found.CVSS <= 10) || !(found.EPSS >= 0 && found.EPSS <= 1) {
				t.Fatalf("not a score: %+v", found)
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
