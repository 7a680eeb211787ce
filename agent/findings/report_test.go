// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// read reads a report that is whole.
func read(t *testing.T, format, in string) Report {
	t.Helper()
	report, err := Read(t.Context(), format, strings.NewReader(in), nil)
	if err != nil {
		t.Fatalf("%s %s: %v", format, in, err)
	}
	return report
}

// TestReportTellsItsTargets: what an agent needs to see that a report is of this asset.
func TestReportTellsItsTargets(t *testing.T) {
	t.Parallel()
	const nmap = `<nmaprun scanner="nmap"><scaninfo/><host><address addr="192.0.2.7" addrtype="ipv4"/><address addr="00:11:22:33:44:55" addrtype="mac"/>` +
		`<hostnames><hostname name="Web-01.example.com" type="user"/></hostnames></host><runstats><finished time="1796000000" exit="success"/></runstats></nmaprun>`
	for _, tt := range []struct {
		format, in string
		want       string
		its, other []string // assets
		ended      bool
		made       string
	}{
		{"nmap", nmap, "[[192.0.2.7 web-01.example.com]]", []string{"192.0.2.7", "WEB-01.example.com.", "https://web-01.example.com:8443/x"}, []string{"web-02.example.com", "192.0.2.70"}, true, "2026-11-30T00:53:20Z"},
		{
			"nuclei", `{"template-id":"a","host":"https://u:p@web-01:8443/x?y","ip":"2001:DB8:0::1","timestamp":"2026-11-30T07:00:01.5Z"}` + "\n" + `{"template-id":"b","host":"web-01:80","ip":"2001:db8::1","matcher-status":false}`,
			"[[web-01 2001:db8::1]]",
			[]string{"web-01", "[2001:db8::1]:443", "2001:db8:0:0::1"},
			[]string{"web-02"},
			false, "2026-11-30T07:00:01Z",
		},
		{"nuclei", `[{"template-id":"a","host":"web-01"}]`, "[[web-01]]", []string{"web-01"}, []string{"web"}, true, ""},
		{"nuclei", ``, "[]", []string{"any"}, nil, false, ""},
		{
			"trivy", `{"SchemaVersion":2,"CreatedAt":"2026-11-20T10:00:00+01:00","ArtifactName":"r.example.com/app:1","ArtifactType":"container_image","Metadata":{"OS":{"Family":"alpine"},"RepoTags":["r.example.com/app:1","app:latest"],"RepoDigests":["app@sha256:00"]}}`,
			"[[r.example.com/app:1 app:latest app@sha256:00]]",
			[]string{"r.example.com/app:1", "App:latest"},
			[]string{"r.example.com/app:2", "r.example.com"},
			true, "2026-11-20T09:00:00Z",
		},
		{"trivy", `{"SchemaVersion":2,"ArtifactName":"/srv/app","ArtifactType":"filesystem"}`, "[]", []string{"any"}, nil, true, ""},
		{"trivy", `{"SchemaVersion":2,"ArtifactName":"./a.tar","ArtifactType":"container_image","Metadata":{"OS":{"Family":"alpine"}}}`, "[]", []string{"any"}, nil, true, ""},
		{
			"grype", `{"matches":[],"source":{"type":"image","target":{"userInput":"app:1","tags":["app:1","app:2"]}},"descriptor":{"name":"grype","timestamp":"2026-11-20T10:00:00.123456Z"}}`,
			"[[app:1 app:2]]",
			[]string{"app:2"},
			[]string{"app:3", "app"},
			true, "2026-11-20T10:00:00Z",
		},
		{"grype", `{"matches":[],"source":{"type":"directory","target":"/srv"}}`, "[]", []string{"any"}, nil, true, ""},
		{"osv", `{"results":[]}`, "[]", []string{"any"}, nil, true, ""},
		{"sarif", sarifLog("", `"results":[],"invocations":[{"executionSuccessful":true,"endTimeUtc":"2026-11-20T10:00:00.000Z"}]`), "[]", []string{"any"}, nil, true, "2026-11-20T10:00:00Z"},
	} {
		report := read(t, tt.format, tt.in)
		made := ""
		if !report.Made.IsZero() {
			made = report.Made.UTC().Truncate(time.Second).Format(time.RFC3339)
		}
		if got := fmt.Sprint(report.Targets); got != tt.want || report.Ended != tt.ended || made != tt.made {
			t.Errorf("%s: got %s, ended %t, made %s, want %s, %t, %s", tt.in, got, report.Ended, made, tt.want, tt.ended, tt.made)
		}
		for _, asset := range tt.its {
			if foreign := report.Foreign(asset); len(foreign) > 0 {
				t.Errorf("%s is of %s, got foreign %s", tt.in, asset, foreign)
			}
		}
		for _, asset := range tt.other {
			if foreign := report.Foreign(asset); len(foreign) != 1 {
				t.Errorf("%s is not of %s, got foreign %s", tt.in, asset, foreign)
			}
		}
	}
}

// TestReportKeepsEveryCVE: a finding has room for some names only, and KEV may have any of them.
func TestReportKeepsEveryCVE(t *testing.T) {
	t.Parallel()
	var names, want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("CVE-2024-%04d", i))
		names = append(names, fmt.Sprintf("%q", "cve-2024-"+fmt.Sprintf("%04d", i)))
	}
	list := strings.Join(names, ",")
	for format, in := range map[string]string{
		"nuclei":   `{"template-id":"x","info":{"severity":"low","classification":{"cve-id":[` + list + `]}}}`,
		"findings": `{"findings":[{"id":"x","aliases":[` + list + `]}]}`,
		"trivy":    `{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[{"VulnerabilityID":"x","VendorIDs":[` + list + `]}]}]}`,
		"osv":      `{"results":[{"source":{},"packages":[{"vulnerabilities":[{"id":"USN-1","upstream":[` + list + `]}]}]}]}`,
	} {
		report := read(t, format, in)
		if got := report.CVEs(); !slices.Equal(got, want) || len(report.Findings) != 1 || len(report.Findings[0].Aliases) != maxAliases {
			t.Errorf("%s: got %d CVEs of %d, %d findings", format, len(got), len(want), len(report.Findings))
		}
	}
	twice := read(t, "findings", `{"findings":[{"id":"a","aliases":["UBUNTU-CVE-2024-1111"]},{"id":"a","aliases":[`+list+`]}]}`)
	if len(twice.CVEs()) != 301 {
		t.Errorf("of merged findings: got %d CVEs", len(twice.CVEs()))
	}
}

func TestReportNotes(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"grype", `{"matches":[],"alertsByPackage":[{"package":{"name":"a"},"alerts":[{"type":"distro-eol","message":"centos 8 is EOL"}]},{"alerts":[{"type":"distro-eol","message":"centos 8 is EOL"}]}]}`, "Grype warns: centos 8 is EOL"},
		{"trivy", `{"SchemaVersion":2,"Metadata":{"OS":{"Family":"alpine","Name":"3.9.4","EOSL":true}}}`, "alpine 3.9.4 is not supported any more: what was found since is not known of it"},
		{"sarif", sarifLog("", `"results":[{"ruleId":"a"}],"invocations":[{"toolExecutionNotifications":[{"level":"error","message":{"text":"cannot read x"}}]}]`), "it says that something went wrong: cannot read x"},
		{"nuclei", `{"template-id":"a","matcher-status":false,"error":"refused"}{"template-id":"b","matcher-status":false}`, "1 templates could not be tried, the first because of: refused"},
		{"sarif", sarifLog("", `"results":[{"kind":"review"},{"kind":"open"},{"kind":"open","baselineState":"absent"},{"kind":"pass"}]`), "2 results are for a person to decide on (kind open or review), and not counted"},
		{"osv", `{"results":[],"experimental_generic_findings":[{"Adv":{"ID":{"Reference":"x"}}}]}`, "what it found without a package is not counted (experimental_generic_findings: 1)"},
		{"nmap", nmapScripts(`<script id="ssl-heartbleed" output="ERROR: Script execution failed (use -d to debug)"/>`), "nmap's script ssl-heartbleed failed at 192.0.2.7"},
		{"nmap", nmapScripts(`<script id="vulscan" output="VulDB: [1] x"/>`), "what nmap's script vulscan guesses from names of products is not counted"},
	} {
		if got := read(t, tt[0], tt[1]).Notes; len(got) != 1 || got[0] != tt[2] {
			t.Errorf("%s: got %q, want %q", tt[1], got, tt[2])
		}
	}
}

// TestAScanThatDidNotTryAllSaysSo: what it does not find may be there.
func TestAScanThatDidNotTryAllSaysSo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format, in string
		want       bool
	}{
		{"nuclei", `{"template-id":"a","matcher-status":false,"error":"refused"}{"template-id":"b"}`, true},
		{"nuclei", `{"template-id":"a","matcher-status":false}{"template-id":"b"}`, false},
		{"nmap", nmapScripts(`<script id="ssl-heartbleed" output="ERROR: Script execution failed"/>`), true},
		{"nmap", nmapScripts(`<script id="vulscan" output="VulDB: [1] x"/>`), false},
		{"sarif", sarifLog("", `"results":[{"ruleId":"a"}],"invocations":[{"toolExecutionNotifications":[{"level":"error","message":{"text":"cannot read x"}}]}]`), true},
		{"sarif", sarifLog("", `"results":[{"kind":"review"}]`), false},
		{"trivy", `{"SchemaVersion":2,"Metadata":{"OS":{"Family":"alpine","Name":"3.9.4","EOSL":true}}}`, false},
	} {
		if got := read(t, tt.format, tt.in).Incomplete; got != tt.want {
			t.Errorf("%s: incomplete is %v", tt.in, got)
		}
	}
}

// endless is an output that never ends, of which the context is done after a while.
type endless struct {
	head, each string
	left       string
	reads      int
	cancel     context.CancelCauseFunc
}

var errEnough = errors.New("enough")

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads == 20 {
		e.cancel(errEnough)
	}
	if e.left == "" {
		e.left, e.head = e.head+strings.Repeat(e.each, 100), ""
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// TestReadEndsWithItsContext: in every format, whether it reads tokens, values or what it passes over.
func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ format, head, each string }{
		{"nuclei", "", `{"template-id":"a"}`},
		{"trivy", `{"SchemaVersion":2,"Results":[`, `{"Target":"a"},`},
		{"grype", `{"x":[`, `1,`},
		{"nmap", `<nmaprun scanner="nmap">`, `<host></host>`},
		{"nmap", `<nmaprun scanner="nmap"><host><ports><port>`, `<script></script>`},
		{"osv", `{"results":[`, `{"source":{},"packages":[]},`},
		{"sarif", `{"runs":[{"results":[`, `{"ruleId":"a"},`},
		{"findings", `{"findings":[`, `{"id":"a"},`},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		report, err := Read(ctx, tt.format, &endless{head: tt.head, each: tt.each, cancel: cancel}, nil)
		if !errors.Is(err, errEnough) || report.Findings != nil {
			t.Errorf("%s %s: %d findings, error %v", tt.format, tt.head, len(report.Findings), err)
		}
	}
}

// TestOpenTakesFilesOnly: nobody who can make a pipe in the place of a report holds up who reads it.
func TestOpenTakesFilesOnly(t *testing.T) {
	t.Parallel()
	pipe, file := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "file")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, t.TempDir(), "/dev/null"} {
		if f, err := Open(path); err == nil || f != nil || err.Error() != "it is not a file" {
			t.Errorf("%s: got %v, error %v", path, f, err)
		}
	}
	if _, err := Open(file + "not there"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "x" || err != nil {
		t.Errorf("got %q, error %v", b, err)
	}
	if _, err := OpenKEV(pipe); err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("a catalogue: %v", err)
	}
}
