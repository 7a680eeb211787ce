// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/picketd/picket/agent/findings"
)

// known are the findings of the sample: all of them were published.
func known() map[string]findings.Finding {
	all := map[string]findings.Finding{}
	for _, f := range []findings.Finding{
		{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10, KEV: true, EPSS: 0.944, Title: "Apache Log4j2 JNDI features do not protect against attacker controlled LDAP", Package: "org.apache.logging.log4j:log4j-core 2.14.1", Location: "/opt/app/lib/log4j-core-2.14.1.jar", FixedIn: "2.15.0", URL: "https://nvd.nist.gov/vuln/detail/CVE-2021-44228", Aliases: []string{"GHSA-jfh8-c2jp-5v3q"}},
		{ID: "CVE-2024-6387", Severity: "high", CVSS: 8.1, EPSS: 0.421, Title: "OpenSSH: race condition in sshd's signal handling (regreSSHion)", Package: "openssh-server 1:9.2p1-2+deb12u2", FixedIn: "1:9.2p1-2+deb12u3", URL: "https://security-tracker.debian.org/tracker/CVE-2024-6387"},
		{ID: "CVE-2023-4911", Severity: "high", CVSS: 7.8, KEV: true, EPSS: 0.62, Title: "glibc: buffer overflow in ld.so leading to privilege escalation", Package: "libc6 2.36-9+deb12u1", FixedIn: "2.36-9+deb12u3", URL: "https://security-tracker.debian.org/tracker/CVE-2023-4911"},
		{ID: "CVE-2023-44487", Severity: "high", CVSS: 7.5, KEV: true, EPSS: 0.944, Title: "HTTP/2 rapid reset", Package: "nginx 1.22.1-9", FixedIn: "1.22.1-9+deb12u1", URL: "https://nvd.nist.gov/vuln/detail/CVE-2023-44487"},
		{ID: "CVE-2023-5363", Severity: "high", CVSS: 7.5, Title: "openssl: incorrect cipher key and IV length processing", Package: "libssl3 3.0.9-1", FixedIn: "3.0.11-1~deb12u2", URL: "https://security-tracker.debian.org/tracker/CVE-2023-5363"},
		{ID: "CVE-2023-5678", Severity: "medium", CVSS: 5.3, Title: "openssl: excessive time spent generating or checking X9.42 DH keys", Package: "libssl3 3.0.9-1", FixedIn: "3.0.13-1~deb12u1", URL: "https://security-tracker.debian.org/tracker/CVE-2023-5678"},
		{ID: "CVE-2023-7104", Severity: "medium", CVSS: 5.5, Title: "sqlite: heap buffer overflow in sessionReadRecord", Package: "libsqlite3-0 3.40.1-2", URL: "https://security-tracker.debian.org/tracker/CVE-2023-7104"},
		{ID: "CVE-2016-2781", Severity: "low", CVSS: 3.3, Title: "coreutils: chroot may not drop privileges", Package: "coreutils 9.1-1", URL: "https://security-tracker.debian.org/tracker/CVE-2016-2781"},
		{ID: "git-config", Severity: "medium", CVSS: 5.3, Title: "Git configuration is readable", Location: "https://shop.example.com/.git/config"},
		{ID: "open-port", Severity: "info", Title: "Port 9200/tcp is open: http Elasticsearch", Package: "Elasticsearch 8.11", Location: "192.0.2.40:9200/tcp"},
	} {
		all[f.ID] = f
	}
	return all
}

// sample is a night over some sixty machines.
func sample(t *testing.T) *Report {
	t.Helper()
	h := Header{
		List: "nightly", Task: "2026-12-01", Previous: "2026-11-30", At: time.Date(2026, 12, 1, 5, 42, 0, 0, time.UTC),
		Notes: []string{"Accepted entry CVE-2020-1971 (/etc/picket/accepted.toml:12) matches nothing."},
	}
	for day := range 20 {
		c := Counts{Assets: 60, Online: 56, HighRisk: 9 - day/4 + day%2, Findings: 190 - 4*day + 7*(day%3), Accepted: 6, New: 3 + day*7%9, Fixed: 4 + day*5%11, Failed: []int{0, 0, 1, 0, 12, 0, 2}[day%7]}
		h.Earlier = append(h.Earlier, Past{Task: fmt.Sprintf("2026-11-%02d", day+11), At: h.At.AddDate(0, 0, day-20), First: day == 0, Counts: c})
	}
	m := New(h)
	k := known()
	worse := k["CVE-2024-6387"]
	worse.Severity, worse.CVSS, worse.FixedIn = "medium", 5.9, ""
	add := func(a Asset) {
		if err := m.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		name := fmt.Sprintf("web-%02d.example.com", i)
		was := []findings.Finding{k["CVE-2023-5678"], k["CVE-2016-2781"]}
		now := was
		high := false
		if i%4 == 0 {
			was, now = append(was[:2:2], k["CVE-2023-4911"]), append(now[:2:2], k["CVE-2024-6387"])
		}
		if i%4 == 1 {
			was, now = append(was[:2:2], worse), append(now[:2:2], k["CVE-2024-6387"])
		}
		if i%9 == 3 {
			now, high = append(now[:len(now):len(now)], k["CVE-2021-44228"], k["CVE-2023-44487"]), true
		}
		if i == 7 {
			now = append(now[:2:2], k["git-config"], k["open-port"], k["CVE-2023-7104"])
		}
		base := scanned(name, "2026-11-30", i%9 == 5, was...)
		a := Asset{Name: name, Last: base, Base: base, Now: scanned(name, "2026-12-01", high, now...)}
		switch {
		case i >= 52 && i < 56:
			a.Now = failed(name, "2026-12-01", "nuclei did not end within 30m0s")
		case i == 56:
			a.Now = failed(name, "2026-12-01", "the report of "+name+" cannot be used: it is cut off at line 3120")
		case i == 57:
			a.Now = offline(name, "2026-12-01")
		case i == 58:
			a.Now = nil
		case i == 59:
			a.Gone, a.Now = true, nil
		}
		add(a)
	}
	return m.Report()
}
