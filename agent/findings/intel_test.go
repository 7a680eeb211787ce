// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "intel")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tomorrow is a date that is further ahead than clocks and zones may differ.
func tomorrow() string { return time.Now().Add(25 * time.Hour).UTC().Format(time.RFC3339) }

func packed(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	kevSample = `{"title":"CISA Catalog of Known Exploited Vulnerabilities","catalogVersion":"2025.11.20","dateReleased":"2025-11-20T17:04:19.9796Z","count":2,
		"vulnerabilities":[{"cveID":"CVE-2024-3400","vendorProject":"Palo Alto Networks","cwes":["CWE-20"]},{"cveID":"CVE-2014-0160"}]}`
	epssSample = "#model_version:v2025.03.14,score_date:2025-11-20T12:00:00+0000\ncve,epss,percentile\n" +
		"CVE-2021-44228,0.94358,0.99960\nCVE-1999-0001,0.01141,0.77\nCVE-2026-12345678,0.000430000,0.01\nCVE-2014-0160,1,1\n"
)

func TestKEV(t *testing.T) {
	t.Parallel()
	for _, content := range [][]byte{[]byte(kevSample), packed(t, kevSample), []byte("\xef\xbb\xbf" + kevSample)} {
		k, err := OpenKEV(file(t, content))
		if err != nil {
			t.Fatal(err)
		}
		if !k.Has("CVE-2024-3400") || !k.Has("CVE-2014-0160") || k.Has("CVE-2014-0161") || k.Has("") {
			t.Error("the catalogue does not hold what it should")
		}
		if want := time.Date(2025, 11, 20, 17, 4, 19, 979_600_000, time.UTC); !k.Date().Equal(want) {
			t.Errorf("got %v, want %v", k.Date(), want)
		}
	}
}

// TestCatalogueOfTheNextZoneIsTaken: clocks and zones differ by less than a day.
func TestCatalogueOfTheNextZoneIsTaken(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(23 * time.Hour).UTC().Format(time.RFC3339)
	if _, err := OpenKEV(file(t, []byte(strings.Replace(kevSample, "2025-11-20T17:04:19.9796Z", later, 1)))); err != nil {
		t.Error(err)
	}
	if _, err := OpenEPSS(file(t, []byte(strings.Replace(epssSample, "2025-11-20T12:00:00+0000", later, 1)))); err != nil {
		t.Error(err)
	}
}

func TestKEVRefused(t *testing.T) {
	t.Parallel()
	for want, content := range map[string][]byte{
		"it is empty":                           nil,
		"says that it has 3 entries, and has 2": []byte(strings.Replace(kevSample, `"count":2`, `"count":3`, 1)),
		`no "count"`:                            []byte(strings.Replace(kevSample, `"count"`, `"total"`, 1)),
		`no "vulnerabilities"`:                  []byte(`{"findings":[],"count":0,"dateReleased":"2025-11-20T17:04:19Z"}`),
		`dateReleased is "yesterday"`:           []byte(strings.Replace(kevSample, "2025-11-20T17:04:19.9796Z", "yesterday", 1)),
		`vulnerabilities[1]: its cveID is ""`:   []byte(strings.Replace(kevSample, `{"cveID":"CVE-2014-0160"}`, "{}", 1)),
		"cut off":                               []byte(kevSample[:len(kevSample)-1]),
		"something follows":                     []byte(kevSample + "{}"),
		"in the future: here it is ":            []byte(strings.Replace(kevSample, "2025-11-20T17:04:19.9796Z", tomorrow(), 1)),
		"cut off, in gzip":                      packed(t, kevSample)[:100],
		"damaged gzip":                          []byte("\x1f\x8bnothing"),
	} {
		path := file(t, content)
		want, _, _ = strings.Cut(want, ", in gzip")
		if _, err := OpenKEV(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for n := range kevSample {
		if _, err := OpenKEV(file(t, []byte(kevSample[:n]))); err == nil {
			t.Fatalf("cut at %d: taken as whole", n)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := OpenKEV(missing); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), missing) != 1 {
		t.Errorf("a missing file: %v", err)
	}
}

func TestEPSS(t *testing.T) {
	t.Parallel()
	for _, content := range [][]byte{[]byte(epssSample), packed(t, epssSample), []byte(strings.ReplaceAll(epssSample, "\n", "\r\n"))} {
		e, err := OpenEPSS(file(t, content))
		if err != nil {
			t.Fatal(err)
		}
		for cve, want := range map[string]float64{"CVE-2021-44228": 0.94358, "CVE-1999-0001": 0.01141, "CVE-2026-12345678": 0.00043, "CVE-2014-0160": 1} {
			if got, ok := e.Score(cve); !ok || got != want {
				t.Errorf("%s: got %v %v, want %v", cve, got, ok, want)
			}
		}
		for _, cve := range []string{"", "CVE-2021-44229", "CVE-2021-", "2021-44228", "GHSA-jfh8-c2jp-5v3q", "CVE-99999-1"} {
			if got, ok := e.Score(cve); ok {
				t.Errorf("%q: got %v, want nothing", cve, got)
			}
		}
		if want := time.Date(2025, 11, 20, 12, 0, 0, 0, time.UTC); !e.Date().Equal(want) {
			t.Errorf("got %v, want %v", e.Date(), want)
		}
	}
}

func TestEPSSRefused(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(epssSample, "\n")
	head := lines[0] + lines[1]
	for _, tt := range []struct {
		content []byte
		want    string
	}{
		{nil, "has 0 lines and no scores"},
		{[]byte(head), "has 2 lines and no scores"},
		{[]byte(lines[1] + lines[2]), "line 1: should be as #model_version"},
		{[]byte("#model_version:v1,score_date:soon\n" + lines[1]), "line 1: should be as"},
		{[]byte("#model_version:v1,score_date:" + tomorrow() + "\n" + lines[1] + lines[2]), "line 1: its date "},
		{[]byte(lines[0] + "cve,score\n"), "line 2: should be cve,epss,percentile"},
		{[]byte(head + lines[2] + "CVE-2020-0001,0.5\n"), "line 4: has 2 fields, should have 3"},
		{[]byte(head + "\n"), "line 3: has 1 fields"},
		{[]byte(head + "GHSA-1,0.5,0.5\n"), `line 3: "GHSA-1" is no CVE`},
		{[]byte(head + "CVE-2020-0001,1.5,0.5\n"), `line 3: "1.5" is no probability`},
		{[]byte(head + "CVE-2020-0001,-0.1,0.5\n"), `"-0.1" is no probability`},
		{[]byte(head + "CVE-2020-0001,NaN,0.5\n"), `"NaN" is no probability`},
		{[]byte(head + "CVE-2020-0001,0.5,x\n"), `"x" is no probability`},
		{[]byte(head + lines[2] + lines[3] + lines[2]), "it has CVE-2021-44228 twice"},
		{[]byte(head + strings.Repeat("x", 70_000)), "line 3 is longer than 64 KiB"},
		{[]byte(epssSample[:len(epssSample)-1]), "ends in the middle of line 6: it was cut off"},
		{packed(t, epssSample)[:60], "it was cut off"},
		{packed(t, epssSample)[:len(packed(t, epssSample))-4], "it was cut off"},
		{append(packed(t, epssSample)[:len(packed(t, epssSample))-8], "notasum!"...), "damaged gzip"},
	} {
		path := file(t, tt.content)
		if _, err := OpenEPSS(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// TestEPSSMemory: a day's table takes 16 bytes a row. It is not parallel, for it looks at the heap.
func TestEPSSMemory(t *testing.T) {
	notRaced(t)
	const rows = 300_000
	var content bytes.Buffer
	content.WriteString("#model_version:v1,score_date:2025-11-20T00:00:00+0000\ncve,epss,percentile\n")
	for i := range rows {
		fmt.Fprintf(&content, "CVE-%d-%04d,0.%05d,0.5\n", 1999+i%28, i, i%100_000)
	}
	path := file(t, packed(t, content.String()))
	content = bytes.Buffer{}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	e, err := OpenEPSS(path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > rows*16+1<<20 {
		t.Errorf("%d rows take %d KiB", rows, grown>>10)
	}
	if got, ok := e.Score(fmt.Sprintf("CVE-%d-%04d", 1999+123456%28, 123456)); !ok || got != 0.23456 {
		t.Errorf("got %v %v, want 0.23456", got, ok)
	}
}
