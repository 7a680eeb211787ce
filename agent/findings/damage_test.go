// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/unicode"
)

// TestCutOffIsAnError: no part of a scan reads as a scan. nuclei's lines are the exception that doc.go tells of.
func TestCutOffIsAnError(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			whole := bytes.TrimSpace(sample(t, s.file))
			all, err := Parse(s.format, bytes.NewReader(whole))
			if err != nil {
				t.Fatal(err)
			}
			for n := range whole {
				list, err := Parse(s.format, bytes.NewReader(whole[:n]))
				lines := s.format == "nuclei" && n == 0 || strings.HasSuffix(s.file, ".jsonl") && (whole[n] == '\n' || whole[n-1] == '\n')
				switch {
				case lines:
					if err != nil || len(list) > len(all) {
						t.Fatalf("cut between two lines at %d: %d findings, %v", n, len(list), err)
					}
				case err == nil || list != nil:
					t.Fatalf("cut at %d: %d findings, error %v", n, len(list), err)
				case n > 1 && !strings.Contains(err.Error(), "cut off") && !strings.Contains(err.Error(), "runstats"):
					t.Fatalf("cut at %d: does not say so: %v", n, err)
				}
			}
		})
	}
}

// TestReadErrorIsAnError: what ends with an error of the reader is not taken for the end.
func TestReadErrorIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the pipe broke")
	for _, s := range samples {
		r := io.MultiReader(bytes.NewReader(sample(t, s.file)), iotest.ErrReader(broken))
		if list, err := Parse(s.format, r); !errors.Is(err, broken) || list != nil {
			t.Errorf("%s: %d findings, error %v", s.file, len(list), err)
		}
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		plain := sample(t, s.file)
		for name, encode := range map[string]func() ([]byte, error){
			"UTF-8 with a mark": func() ([]byte, error) { return append([]byte("\xef\xbb\xbf"), plain...), nil },
			"UTF-16LE": func() ([]byte, error) {
				return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(plain)
			},
			"UTF-16BE": func() ([]byte, error) {
				return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().Bytes(plain)
			},
		} {
			b, err := encode()
			if err != nil {
				t.Fatal(err)
			}
			list, err := Parse(s.format, iotest.OneByteReader(bytes.NewReader(b)))
			if err != nil || len(list) != len(s.want) {
				t.Errorf("%s as %s: %d findings, error %v", s.file, name, len(list), err)
			}
		}
		cut := bytes.LastIndexByte(plain, '"')
		bad := slices.Concat(plain[:cut], []byte("\xff"), plain[cut:])
		if _, err := Parse(s.format, bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "not UTF-8, in line ") {
			t.Errorf("%s with a byte that is not UTF-8: %v", s.file, err)
		}
	}
}

// TestRefused: each of these would be "no findings", or too few of them, to a reader that forgives.
func TestRefused(t *testing.T) {
	t.Parallel()
	const run = `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},`
	const nmap = `<nmaprun scanner="nmap">`
	const end = `<runstats><finished exit="success"/></runstats></nmaprun>`
	for _, tt := range []struct{ format, in, want string }{
		{"trivy", "", "it is empty"},
		{"grype", " \n", "it is empty"},
		{"nmap", "", "it is empty"},
		{"sarif", "", "it is empty"},
		{"findings", "", "it is empty"},
		{"osv", "", "prints nothing only when it failed or found no packages"},
		{"nuclei", "[INF] Using Nuclei Engine\n{}", "looks like text"},
		{"nuclei", "\x00", "it is not JSON"}, // zeros are what a file may hold after a loss of power
		{"nuclei", "\n\n\x00\n", "it is not JSON"},
		{"nuclei", strings.Repeat("\x00", 3<<20), "it is not JSON"},
		{"nuclei", "{\"template-id\":\"a\"}\n" + strings.Repeat("\x00", 5000), "result 2: it is not JSON"},
		{"nuclei", "[{\"template-id\":\"a\"}]\n\x00", "something follows"},
		{"trivy", "\x00\x00", "it is not JSON"},
		{"grype", "\x00", "it is not JSON"},
		{"nmap", "\x00", "it is not XML"},
		{"osv", "\x00", "it is not JSON"},
		{"sarif", "\x00", "it is not JSON"},
		{"findings", "\x00", "it is not JSON"},
		{"nuclei", "{}", "has no template-id"},
		{"nuclei", "null", "is null"},
		{"nuclei", `{"template-id":"a","info":[]}`, "result 1.info: is an array"},
		{"nuclei", `[{"template-id":"a"},null]`, "[1]: is null"},
		{"nuclei", `[{"template-id":"a"}] x`, "something follows"},
		{"nuclei", "{\"template-id\":\"a\"}\n{\"template-id\":\"b\",}", "result 2: it is not JSON"},
		{"trivy", "{}", `none of "SchemaVersion"`},
		{"trivy", `{"SchemaVersion":3,"Results":[]}`, "SchemaVersion is 3, known is 2"},
		{"trivy", `{"SchemaVersion":2,"Results":{}}`, "Results: is an object, should be a list"},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Vulnerabilities":[]}]}`, "Results[0]: it has no Target"},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[{},{"VulnerabilityID":"CVE-2020-0001"}]}]}`, "Results[0].Vulnerabilities[0]: it has no VulnerabilityID"},
		{"trivy", `{"SchemaVersion":2,"Results":[]}{}`, "something follows its end at byte"},
		{"sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[],"externalPropertyFileReferences":{"results":[{"location":{"uri":"r"}}]}}]}`, "they are in another file"},
		{"trivy", `{"ClusterName":"c","Resources":[{"Kind":"Pod","Error":"no such image"}]}`, "could not scan it: no such image"},
		{"trivy", `{"ClusterName":"c","Findings":[{"Id":"x"}]}`, "has no Kind"},
		{"trivy", `{"Findings":[{"Kind":"x"}]}`, "none of"}, // Security Hub
		{"grype", `{"artifacts":[]}`, `no "matches"`},
		{"grype", `{"matches":[{}]}`, "matches[0]: its vulnerability has no id"},
		{"grype", `{"matches":[null]}`, "matches[0]: is null"},
		{"grype", `{"matches":[{"vulnerability":"x"}]}`, "matches[0].vulnerability: is a string"},
		{"grype", `{"matches":[],"descriptor":{"name":"xeol"}}`, "names xeol"},
		{"trivy", `{"SchemaVersion":"x","Results":[]}`, "SchemaVersion is x, known is 2"},
		{"trivy", `{"SchemaVersion":0,"Results":[]}`, "SchemaVersion is 0, known is 2"},
		{"trivy", "null", "it is null"},
		{"trivy", "[]\n", "nothing was scanned"},
		{"findings", " null\n", "it is null"},
		{"sarif", "null", "it is null"},
		{"grype", `{"matches":null}`, "matches: is null, should be a list"},
		{"grype", `[]`, "is a list, should be an object"},
		{"osv", `{"results":[],"errors":[]}`, "OSV-Scanner does not write"},
		{"osv", `{"errors":[],"paths":{"scanned":["a.py"]},"results":[],"version":"1.90.0"}`, "it looks like Semgrep JSON"},
		{"osv", `{"version":"1.90.0","results":[],"paths":{}}`, "OSV-Scanner does not write"},
		{"osv", `{"version":"1.90.0","results":[{"check_id":"a","path":"a.py"}],"errors":[]}`, "it looks like Semgrep JSON"},
		{"osv", `{"errors":[],"generated_at":"2026-01-01","metrics":{},"results":[]}`, "it looks like Bandit JSON"},
		{"osv", `{"results":[{"check_id":"a"}]}`, `results[0]: it has no "source"`},
		{"osv", `{"results":[{"source":{"path":"a"},"packages":[{"vulnerabilities":[{}]}]}]}`, "it has no id"},
		{"sarif", run + `"results":[]}]`, "cut off"},
		{"sarif", strings.Replace(run, "2.1.0", "2.0.0", 1) + `"results":[]}]}`, `version is "2.0.0", known is 2.1.0`},
		{"sarif", `{"version":"2.1.0"}`, `no "runs"`},
		{"sarif", `{"version":"2.1.0","runs":[]}`, "nothing was scanned"},
		{"sarif", run + `"x":1}]}`, `runs[0]: it has no "results"`},
		{"sarif", run + `"results":[],"invocations":[{"executionSuccessful":true},{"executionSuccessful":false}]}]}`, "executionSuccessful = false"},
		{"sarif", run + `"results":[{}]}]}`, "has no id"},
		{"findings", `{"findings":null}`, "should be a list"},
		{"sarif", run + `"results":null}]}`, "results: is null"},
		{"sarif", `{"version":"2.1.0","runs":null}`, "runs: is null"},
		{"findings", `{"findings":[{"severity":"high"}]}`, "findings[0]: it has no id"},
		{"findings", `{"findings":[{"id":{}}]}`, "should be text"},
		{"findings", `{"Findings":[]}`, `no list named "findings"`},
		{"findings", `{"a":` + strings.Repeat("[", 300), "more than 200 deep"},
		{"findings", `{"a":` + strings.Repeat("[", 10) + strings.Repeat("]", 10) + `}`, `no list named`},
		{"nmap", nmap + `<host/></nmaprun>`, "no runstats"},
		{"nmap", nmap + `<runstats><finished exit="error" errormsg="no route"/></runstats></nmaprun>`, `"error": no route`},
		{"nmap", nmap + `<runstats><finished exit="success"/><hosts up="0" down="0" total="0"/></runstats></nmaprun>`, "of 0 hosts none was up"},
		{"nmap", nmap + `<host timedout="true"/>` + end, "not complete"},
		{"nmap", nmap + end + "x", "outside"},
		{"nmap", nmap + end + nmap + end, "<nmaprun>"},
		{"nmap", strings.Replace(nmap, `"nmap"`, `"masscan"`, 1) + end, "<nmaprun>"},
		{"nmap", `<?xml version="1.0" encoding="ISO-8859-1"?>` + nmap + end, `encoding is "iso-8859-1"`},
		{"nmap", `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + nmap + `<host><address addr="&x;"/></host>` + end, "invalid character entity &x;"},
		{"nmap", nmap + strings.Repeat("<a>", 70), "more than 64 deep"},
		{"nmap", nmap + `<host><ports><port portid="1"><state state="open"/><script id="vulners" output="ERROR: Script execution failed"/></port></ports></host>` + end, "script vulners failed"},
	} {
		list, err := Parse(tt.format, strings.NewReader(tt.in))
		if err == nil || list != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.80s:\n got %d findings, error %v\nwant %s", tt.format, tt.in, len(list), err, tt.want)
		}
	}
}

// TestClean: these are complete scans that found nothing.
func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{"nuclei", ""},
		{"nuclei", "\n"},
		{"nuclei", "[]"},
		{"trivy", `{"SchemaVersion":2,"ArtifactName":"x"}`},
		{"trivy", `{"SchemaVersion":2,"Results":null}`},
		{"grype", `{"matches":[]}`},
		{"osv", `{"results":[]}`},
		{"osv", `{"results":null}`},
		{"sarif", `{"runs":[{"results":[]}],"version":"2.1.0"}`},
		{"findings", `{"findings":[]}`},
		{"nmap", `<nmaprun scanner="nmap"><scaninfo type="connect"/><runstats><finished/></runstats></nmaprun>` + "\n<!-- end -->\n"},
	} {
		if list, err := Parse(tt[0], strings.NewReader(tt[1])); err != nil || len(list) != 0 {
			t.Errorf("%s %s: %d findings, error %v", tt[0], tt[1], len(list), err)
		}
	}
}

// odd is what stands in fields where something else is expected.
func TestOddValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ format, in, want string }{
		{"grype", `{"matches":[{"vulnerability":{"id":"CVE-2020-0001","severity":null,"cvss":[{"metrics":null,"vector":null,"version":null}],"epss":null},"artifact":{"name":null,"locations":[{}]}}]}`, "CVE-2020-0001 unknown | | | |"},
		{"grype", `{"matches":[{"vulnerability":{"id":"CVE-2020-0001","severity":"CRITICAL","cvss":[{"metrics":{"baseScore":1e400}}]}}]}`, "CVE-2020-0001 critical | | | |"},
		{"grype", `{"matches":[{"vulnerability":{"id":"CVE-2020-0001","cvss":[{"metrics":{"baseScore":0},"vector":"CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}]}}]}`, "CVE-2020-0001 critical 9.8 | | | |"},
		{"grype", `{"matches":[{"vulnerability":{"id":"CVE-2020-0001","cvssV2":{"baseScore":5}}}]}`, "CVE-2020-0001 medium 5 | | | |"},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":null,"Vulnerabilities":null},{"Target":"","Vulnerabilities":[{"VulnerabilityID":"CVE-2020-0001","CVSS":{"nvd":null},"VendorSeverity":{"x":99}}]}]}`, "it has no Target"},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":"","Vulnerabilities":[{"VulnerabilityID":"CVE-2020-0001","CVSS":{"nvd":null},"VendorSeverity":{"x":99}}]}]}`, "CVE-2020-0001 unknown | | | |"},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":"a","Secrets":[{"RuleID":"r","StartLine":1e300}]}]}`, "r unknown | | | a |"},
		{"nuclei", `{"template-id":"a","info":{"severity":9.1,"name":12,"classification":{"cve-id":"","cvss-score":"7.5"}}}`, "a critical 7.5 | 12 | | |"},
		{"nuclei", `{"template-id":"a","info":{"severity":"undefined","classification":{"cvss-score":-1}}}`, "a unknown | a | | |"},
		{"osv", `{"results":[{"source":{"path":"p"},"packages":[{"package":null,"vulnerabilities":[{"id":"A-1","severity":null,"database_specific":{"severity":[1]}}],"groups":[{"ids":["A-1"],"max_severity":"7.1"},{"ids":["B-2"],"aliases":["CVE-2020-0002"]}]}]}]}`, "A-1 high 7.1 | | | p |\nCVE-2020-0002 unknown | | | p | B-2"},
		{"sarif", `{"version":"2.1.0","runs":[{"results":[{"ruleId":"a","ruleIndex":-1,"locations":[],"properties":{"tags":{},"security-severity":{}}},{"rule":{"id":"b"},"level":"ERROR","properties":null}]}]}`, "a medium | | | |\nb high | | | |"},
		{"findings", `{"findings":[{"id":7,"severity":null,"cvss":"9.9","kev":null,"aliases":"x, y"}]}`, "7 critical 9.9 | | | | x,y"},
	} {
		var got []string
		list, err := Parse(tt.format, strings.NewReader(tt.in))
		for _, f := range list {
			got = append(got, show(f))
		}
		if s := strings.Join(got, "\n"); s != tt.want && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s:\n got %s, error %v\nwant %s", tt.format, tt.in, s, err, tt.want)
		}
	}
}

func TestLimits(t *testing.T) {
	notRaced(t)
	t.Parallel()
	var many collector
	for i := range maxFindings {
		if err := many.add(Finding{ID: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := many.add(Finding{ID: "0"}); err != nil {
		t.Errorf("one that is there already: %v", err)
	}
	if err := many.add(Finding{ID: "one more"}); !errors.Is(err, errLimit) {
		t.Errorf("one more: %v", err)
	}
	full := collector{bytes: maxBytes - overhead - 4}
	if err := full.add(Finding{ID: "a", Title: "b", Package: "c", Location: "d"}); err != nil {
		t.Errorf("as much text as may be: %v", err)
	}
	if err := full.add(Finding{ID: "e"}); !errors.Is(err, errLimit) {
		t.Errorf("too much text: %v", err)
	}
	long := strings.Repeat("x", maxElement/2)
	for format, in := range map[string]string{
		"findings": `{"findings":[{"id":"` + long + long + long,
		"grype":    `{"a":"` + long + long + long,
		"nuclei":   `{"a":"` + long + long + long,
		"nmap":     `<nmaprun scanner="nmap" args="` + long + long + long,
	} {
		if _, err := Parse(format, strings.NewReader(in)); !errors.Is(err, errLimit) {
			t.Errorf("%s, a value over the limit: %v", format, err)
		}
	}
	list, err := Parse("findings", strings.NewReader(`{"findings":[{"id":"a","title":"`+long+`"}]}`))
	if err != nil || len(list[0].Title) != maxTitle || !strings.HasSuffix(list[0].Title, "x…") {
		t.Errorf("a long title is cut: %d findings, error %v", len(list), err)
	}
}
