// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"strings"
	"testing"
)

// TestScanThatLookedAtNothing is none that found nothing.
func TestScanThatLookedAtNothing(t *testing.T) {
	t.Parallel()
	const trivy, nmap = `{"SchemaVersion":2,"ArtifactType":"%s"}`, `<nmaprun scanner="nmap">%s<runstats><finished exit="success"/><hosts up="1" total="1"/></runstats></nmaprun>`
	for _, tt := range []struct {
		format, in string
		looked     bool
	}{
		{"trivy", `"container_image","Metadata":{"OS":{"Family":"none","Name":""}}`, false},
		{"trivy", `"container_image","Metadata":{"ImageID":"sha256:00"},"Results":[]`, false},
		{"trivy", `"container_image","Metadata":null,"Results":null`, false},
		{"trivy", `"container_image"`, false},
		{"trivy", `"vm","Metadata":{"OS":{"Family":"none"}}`, false},
		{"trivy", `"cyclonedx"`, false},
		{"trivy", `"spdx"`, false},
		{"trivy", `"container_image","Metadata":{"OS":{"Family":"none"}},"Results":[{"Target":"app/go.bin","Class":"lang-pkgs"}]`, true},
		{"trivy", `"container_image","Metadata":{"OS":{"Family":"alpine","Name":"3.20.1"}}`, true}, // secrets alone were looked for
		{"trivy", `"repository","Metadata":{}`, true},
		{"trivy", `"filesystem"`, true},
		{"nuclei", `{"template-id":"a","host":"h","matcher-status":false,"error":"no address found for host"}`, false},
		{"nuclei", `[{"template-id":"a","host":"h","matcher-status":false,"error":"no address found for host"}]`, false},
		{"nuclei", `{"template-id":"a","host":"h","matcher-status":false,"error":"refused"}{"template-id":"b","host":"h","matcher-status":false}`, true},
		{"nmap", `<host><status state="up"/><address addr="192.0.2.7" addrtype="ipv4"/></host>`, false}, // -sn
		{"nmap", ``, false},
		{"nmap", `<host><ports><extraports state="filtered" count="1000"/></ports></host>`, true},
		{"nmap", `<scaninfo type="connect"/><host/>`, true},
	} {
		in := strings.Replace(map[string]string{"trivy": trivy, "nmap": nmap, "nuclei": "%s"}[tt.format], "%s", tt.in, 1)
		if tt.format == "trivy" {
			in = strings.Replace(trivy, `"%s"`, tt.in, 1)
		}
		list, err := Parse(tt.format, strings.NewReader(in))
		switch {
		case tt.looked && (err != nil || len(list) != 0):
			t.Errorf("%s: %d findings, error %v", in, len(list), err)
		case !tt.looked && (err == nil || !strings.HasSuffix(err.Error(), "nothing was scanned")):
			t.Errorf("%s: got %d findings, error %v", in, len(list), err)
		}
	}
}

// TestLicencesAreFindings: they are looked for only where somebody asked for it.
func TestLicencesAreFindings(t *testing.T) {
	t.Parallel()
	got := shown(t, "trivy", `{"SchemaVersion":2,"Results":[{"Target":"OS Packages","Class":"license","Licenses":[
		{"Severity":"CRITICAL","Category":"forbidden","PkgName":"a","Name":"AGPL-3.0","Link":""},
		{"Severity":"UNKNOWN","Category":"unknown","PkgName":"b","Name":"mine","Link":""},
		{"Severity":"HIGH","Category":"restricted","FilePath":"/LICENSE","Name":"GPL-2.0","Link":"https://spdx.org/licenses/GPL-2.0.html"}]}]}`)
	want := "license:AGPL-3.0 critical | License AGPL-3.0 is forbidden | a | OS Packages |\n" +
		"license:mine unknown | License mine is unknown | b | OS Packages |\n" +
		"license:GPL-2.0 high | License GPL-2.0 is restricted | | OS Packages: /LICENSE |"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	got = shown(t, "osv", `{"results":[{"source":{"path":"/a.lock"},"packages":[{"license_violations":["GPL-3.0","UNKNOWN"],"licenses":["GPL-3.0"],"package":{"name":"p","version":"1"}},
		{"package":{"name":"q","version":"2"},"licenses":["MIT"]}]}]}`)
	want = "license:GPL-3.0 unknown | License GPL-3.0 is not among those that are allowed | p 1 | /a.lock |\n" +
		"license:UNKNOWN unknown | License UNKNOWN is not among those that are allowed | p 1 | /a.lock |"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}
