// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// samples are the files of testdata, with their formats and what comes of them.
var samples = []struct {
	format, file string
	want         []string
}{
	{"nuclei", "nuclei-v3.jsonl", []string{
		"CVE-2021-44228 critical 10 epss 0.97 kev | Apache Log4j2 Remote Code Injection: jndi | | https://app.example.org/login | log4j-console,CVE-2021-45046",
		"tech-detect info | Technologies: nginx | | https://app.example.org |",
		"tech-detect info | Technologies: php | | https://app.example.org |",
	}},
	{"nuclei", "nuclei-v2.jsonl", []string{
		"nginx-version info | nginx version: nginx/1.14.2 | | https://app.example.org/ |",
		"old-ssh low | Old SSH: 5.3 | | app.example.org:22 |",
	}},
	{"nuclei", "nuclei-array.json", []string{
		"weak-cipher low | Weak cipher: tls10, rc4 | | app.example.org:443 |",
		"no-name unknown | no-name | | example.org |",
	}},
	{"trivy", "trivy.json", []string{
		"CVE-2023-4911 high 8.5 | glibc: buffer overflow in ld.so | libc6 2.36-9 | registry.example.org/app:1 (debian 12.1) | DSA-5514-1",
		"CVE-2011-3389 medium 4.3 | | libgnutls30 3.7 | registry.example.org/app:1 (debian 12.1) |",
		"TEMP-0841856-B18BAF low | | bash 5.2 | registry.example.org/app:1 (debian 12.1) |",
		"CVE-2021-44228 critical | log4j-core: RCE | org.apache.logging.log4j:log4j-core 2.14.1 | Java: opt/a.jar |",
		"CVE-2021-44228 critical | log4j-core: RCE | org.apache.logging.log4j:log4j-core 2.14.1 | Java: opt/b.jar |",
		"DS002 high | Image user should not be 'root' | | Dockerfile: line 3 | AVD-DS-0002",
		"aws-access-key-id critical | AWS Access Key ID | | /app/.env: line 2 |",
		"license:GPL-3.0 high | License GPL-3.0 | | empty |",
	}},
	{"trivy", "trivy-v1.json", []string{
		"CVE-2019-1549 medium | openssl: fork | openssl 1.1.1c-r0 | alpine:3.10 (alpine 3.10.2) |",
	}},
	{"trivy", "trivy-k8s.json", []string{
		"CVE-2022-1304 high | | e2fsprogs 1.44 | default Deployment web: nginx:1.14 (debian) |",
	}},
	{"grype", "grype.json", []string{
		"CVE-2021-44228 critical 10 epss 0.9436 kev | Remote code injection in Log4j | log4j-core 2.14.1 | /opt/a.jar | GHSA-jfh8-c2jp-5v3q",
		"CVE-2005-2541 info 10 | tar does not warn | tar 1.34 | /var/lib/dpkg/status |",
		"ELSA-2024-1 unknown | | | |",
	}},
	{"nmap", "nmap.xml", []string{
		"open-port info | Port 22/tcp is open: ssh OpenSSH 7.4 (protocol 2.0) | OpenSSH 7.4 | 192.0.2.7:22/tcp |",
		"CVE-2023-38408 critical 9.8 | OpenSSH 7.4 is known to have CVE-2023-38408 | OpenSSH 7.4 | 192.0.2.7:22/tcp |",
		"EDB-ID:45939 high 7.5 | An exploit for OpenSSH 7.4 is published: EDB-ID:45939 | OpenSSH 7.4 | 192.0.2.7:22/tcp |",
		"open-port info | Port 80/tcp is open: http nginx 1.13.4 | nginx 1.13.4 | 192.0.2.7:80/tcp |",
		"CVE-2018-16843 high 7.5 | nginx 1.13.4 is known to have CVE-2018-16843 | nginx 1.13.4 | 192.0.2.7:80/tcp |",
		"CVE-2019-20372 medium 5.3 | nginx 1.13.4 is known to have CVE-2019-20372 | nginx 1.13.4 | 192.0.2.7:80/tcp |",
		"PACKETSTORM:1 unknown | An exploit for nginx 1.13.4 is published: PACKETSTORM:1 | nginx 1.13.4 | 192.0.2.7:80/tcp |",
		"CVE-2017-0143 unknown | Remote Code Execution vulnerability in Microsoft SMBv1 servers (ms17-010) | | 192.0.2.7 | smb-vuln-ms17-010",
		"open-port info | Port 53/udp is open | | [2001:db8::1]:53/udp |",
	}},
	{"osv", "osv.json", []string{
		"CVE-2021-3121 medium 8.6 | Improper Input Validation in GoGo Protobuf | github.com/gogo/protobuf 1.3.1 | /src/go.mod | GHSA-c3h9-896r-86jm,GO-2021-0053",
		"OSV-2020-1 high 7.5 | Heap overflow in x | x abc123 | /src/go.mod |",
		"CVE-2024-1234 medium | | x abc123 | /src/go.mod | UBUNTU-CVE-2024-1234",
		"GHSA-aaaa-bbbb-cccc critical 9.3 | | x abc123 | /src/go.mod |",
		"license:GPL-3.0 unknown | License GPL-3.0 is not among those that are allowed | y 1 | /src/clean.lock |",
	}},
	{"sarif", "sarif.sarif", []string{
		"CVE-2021-44228 critical 10 | log4j-core: RCE: Package: log4j-core | | opt/a.jar:1:1 | GHSA-jfh8-c2jp-5v3q",
		"CVE-2021-44228 critical 10 | log4j-core: RCE: Package: log4j-core | | opt/b.jar:1 | GHSA-jfh8-c2jp-5v3q",
		"py/sql-injection high 8.8 | SQL | | src/app.py:42 |",
		"CA1000/1 low | Static member | | ns::f |",
		"nothing medium | no rule at all | | |",
		"nothing medium | another | | |",
		"rejected low | suppression rejected | | |",
		"CVE-2020-0002 info | second run | | | CVE-2020-0002-pkg",
	}},
	{"findings", "findings.json", []string{
		"CVE-2024-3400 critical 10 epss 0.94 kev | PAN-OS command injection | PAN-OS 11 | gw-01 | GHSA-x",
		"internal-7 medium | | | |",
	}},
}

func show(f Finding) string {
	s := f.ID + " " + f.Severity
	if f.CVSS != 0 {
		s += fmt.Sprint(" ", f.CVSS)
	}
	if f.EPSS != 0 {
		s += fmt.Sprint(" epss ", f.EPSS)
	}
	if f.KEV {
		s += " kev"
	}
	for _, part := range []string{f.Title, f.Package, f.Location, strings.Join(f.Aliases, ",")} {
		s += " | " + part
	}
	return strings.Join(strings.Fields(s), " ")
}

func sample(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseSamples(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			list, err := Parse(s.format, bytes.NewReader(sample(t, s.file)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range list {
				got = append(got, show(f))
			}
			if !slices.Equal(got, s.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(s.want, "\n"))
			}
		})
	}
}

// TestOtherScannersOutputIsRefused: a file of one scanner, given to the parser of another, must not read as a clean scan.
func TestOtherScannersOutputIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		for _, format := range Formats() {
			if format == s.format {
				continue
			}
			list, err := Parse(format, bytes.NewReader(sample(t, s.file)))
			if err == nil || list != nil {
				t.Errorf("%s read as %s: %d findings, error %v", s.file, format, len(list), err)
				continue
			}
			own, _ := lookup(s.format)
			if !strings.Contains(err.Error(), "it looks like "+own.title) {
				t.Errorf("%s read as %s: %v", s.file, format, err)
			}
		}
	}
}

func TestEachFormatHasASample(t *testing.T) {
	t.Parallel()
	fuzzed, err := os.ReadFile("fuzz_test.go")
	if err != nil {
		t.Fatal(err)
	}
	sampled := map[string]bool{}
	for _, s := range samples {
		sampled[s.format] = true
	}
	for _, format := range Formats() {
		if !sampled[format] {
			t.Errorf("%s has no sample", format)
		}
		if !strings.Contains(string(fuzzed), `fuzz(f, "`+format+`")`) {
			t.Errorf("%s is not fuzzed", format)
		}
	}
}

func TestFormatsAndExitCodes(t *testing.T) {
	t.Parallel()
	for _, format := range Formats() {
		if !slices.Contains(OKExit(format), 0) {
			t.Errorf("%s: 0 must be a complete scan, got %v", format, OKExit(format))
		}
	}
	if !slices.Contains(OKExit("osv"), 1) || slices.Contains(OKExit("osv"), 128) {
		t.Errorf("OSV-Scanner ends with 1 when it found something, with 128 when it found nothing to look at: %v", OKExit("osv"))
	}
	if OKExit("nessus") != nil {
		t.Error("an unknown format has no exit codes")
	}
	_, err := Parse("nessus", strings.NewReader("{}"))
	if err == nil || !strings.Contains(err.Error(), "nuclei, trivy, grype, nmap, osv, sarif, findings") {
		t.Errorf("an unknown format should be answered with those that are known: %v", err)
	}
}
