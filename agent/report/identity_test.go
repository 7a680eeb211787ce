// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picketd/picket/agent/findings"
)

// TestIdentityOutlastsTheScanner: the same finding in another scan, by a newer scanner, and what is another one.
func TestIdentityOutlastsTheScanner(t *testing.T) {
	t.Parallel()
	type f = findings.Finding
	for _, c := range []struct {
		name     string
		was, now f
		changed  []string // nil: it is the same, and nothing is told
		other    bool     // they are two
	}{
		{"another query", f{ID: "CVE-2024-0002", Location: "http://h/login?x=aaaa"}, f{ID: "CVE-2024-0002", Location: "http://h/login?x=bbbb"}, nil, false},
		{"another temporary folder", f{ID: "CVE-2024-0002", Package: "a 1", Location: "/tmp/scan-1a/a.jar"}, f{ID: "CVE-2024-0002", Package: "a 1", Location: "/tmp/scan-2b/a.jar"}, nil, false},
		{"the chance of exploitation", f{ID: "CVE-2024-0002", EPSS: 0.1}, f{ID: "CVE-2024-0002", EPSS: 0.2}, nil, false},
		{"an alias became the id", f{ID: "GHSA-aaaa-bbbb-cccc", Package: "a 1"}, f{ID: "CVE-2024-0002", Aliases: []string{"GHSA-AAAA-BBBB-CCCC"}, Package: "a 1"}, []string{"id"}, false},
		{"the id became an alias", f{ID: "CVE-2024-0002", Aliases: []string{"GHSA-aaaa-bbbb-cccc"}}, f{ID: "GHSA-aaaa-bbbb-cccc"}, []string{"id"}, false},
		{"another size of letters", f{ID: "ghsa-aaaa-bbbb-cccc"}, f{ID: "GHSA-aaaa-bbbb-cccc"}, nil, false},
		{"another path", f{ID: "CVE-2024-0002", Package: "a 1", Location: "/opt/a.jar"}, f{ID: "CVE-2024-0002", Package: "a 1", Location: "/srv/lib/a.jar"}, []string{"location"}, false},
		{"a newer system", f{ID: "CVE-2024-0002", Package: "libc6 2.36-9", Location: "app:1 (debian 12.1)"}, f{ID: "CVE-2024-0002", Package: "libc6 2.36-9+deb12u1", Location: "app:1 (debian 12.2)"}, []string{"location", "package"}, false},
		{"a corrected severity", f{ID: "CVE-2024-0002", Severity: "high", CVSS: 7.5}, f{ID: "CVE-2024-0002", Severity: "critical", CVSS: 9.8}, []string{"cvss", "severity"}, false},
		{"a fix", f{ID: "CVE-2024-0002"}, f{ID: "CVE-2024-0002", FixedIn: "1.2"}, []string{"fixed_in"}, false},
		{"exploited now", f{ID: "CVE-2024-0002"}, f{ID: "CVE-2024-0002", KEV: true}, []string{"kev"}, false},
		{"not known to be exploited without intelligence", f{ID: "CVE-2024-0002", KEV: true}, f{ID: "CVE-2024-0002"}, nil, false},
		{"another line", f{ID: "py/sql", Location: "src/app.py:42"}, f{ID: "py/sql", Location: "src/app.py:44:3"}, []string{"location"}, false},
		{"another line of a policy", f{ID: "DS002", Location: "Dockerfile: line 3"}, f{ID: "DS002", Location: "Dockerfile: line 5"}, []string{"location"}, false},
		{"another service behind a port", f{ID: "open-port", Package: "nginx 1.13", Location: "192.0.2.7:80/tcp"}, f{ID: "open-port", Package: "Apache httpd 2.4", Location: "192.0.2.7:80/tcp"}, []string{"package"}, false},
		{"a version of several words", f{ID: "CVE-2024-0002", Package: "OpenSSH 8.2p1 Ubuntu 4", Location: "/x"}, f{ID: "CVE-2024-0002", Package: "OpenSSH 8.2p1 Ubuntu 5", Location: "/x"}, []string{"package"}, false},

		{"another package", f{ID: "CVE-2024-0002", Package: "a 1", Location: "/x"}, f{ID: "CVE-2024-0002", Package: "b 1", Location: "/x"}, nil, true},
		{"another port", f{ID: "open-port", Package: "OpenSSH 7.4", Location: "192.0.2.7:22/tcp"}, f{ID: "open-port", Package: "OpenSSH 7.4", Location: "192.0.2.7:2222/tcp"}, nil, true},
		{"another port of the asset", f{ID: "CVE-2024-0002", Location: "web-01:80"}, f{ID: "CVE-2024-0002", Location: "web-01:8080"}, nil, true},
		{"another port of an address", f{ID: "CVE-2024-0002", Location: "192.0.2.9:80"}, f{ID: "CVE-2024-0002", Location: "192.0.2.9:8080"}, nil, true},
		{"another page", f{ID: "CVE-2024-0002", Location: "https://h/a"}, f{ID: "CVE-2024-0002", Location: "https://h/b"}, nil, true},
		{"another file", f{ID: "py/sql", Location: "src/a.py:1"}, f{ID: "py/sql", Location: "src/b.py:1"}, nil, true},
		{"another id", f{ID: "CVE-2024-0002", Package: "a 1"}, f{ID: "CVE-2024-0003", Package: "a 1"}, nil, true},
		{"another CVE of the same advisory", f{ID: "CVE-2024-0002", Aliases: []string{"DSA-1"}, Package: "a 1"}, f{ID: "CVE-2024-0003", Aliases: []string{"DSA-1"}, Package: "a 1"}, nil, true},
	} {
		got := match("web-01", []f{c.now}, []f{c.was})[0]
		if same := got == 0; same == c.other {
			t.Errorf("%s: same is %v", c.name, same)
			continue
		}
		if c.other {
			continue
		}
		told := []string{}
		for name := range changes(c.now, c.was) {
			told = append(told, name)
		}
		if slices.Sort(told); !slices.Equal(told, append([]string{}, c.changed...)) {
			t.Errorf("%s: told as changed is %q, want %q", c.name, told, c.changed)
		}
	}
}

// TestMatchTakesTheStrongestFirst: what is the same in more is matched first, whatever the order.
func TestMatchTakesTheStrongestFirst(t *testing.T) {
	t.Parallel()
	of := func(place string) findings.Finding {
		return findings.Finding{ID: "CVE-2021-44228", Package: "log4j-core 2.14.1", Location: place}
	}
	now, base := []findings.Finding{of("/srv/c.jar"), of("/opt/a.jar"), of("/opt/d.jar")}, []findings.Finding{of("/opt/a.jar"), of("/opt/b.jar")}
	if got := match("x", now, base); !slices.Equal(got, []int{1, 0, -1}) {
		t.Errorf("got %v", got)
	}
}

// TestMatchOfRealScans: the same output twice, and with what a newer scanner would say of it.
func TestMatchOfRealScans(t *testing.T) {
	t.Parallel()
	for file, format := range map[string]string{
		"trivy.json": "trivy", "trivy-k8s.json": "trivy", "grype.json": "grype", "nuclei-v3.jsonl": "nuclei", "osv.json": "osv", "sarif.sarif": "sarif", "nmap.xml": "nmap",
	} {
		b, err := os.ReadFile("../findings/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		read := func(text string) []findings.Finding {
			list, err := findings.Parse(format, strings.NewReader(text))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			return list
		}
		base := read(string(b))
		newer := strings.NewReplacer(`debian 12.1`, `debian 12.2`, `"12.1"`, `"12.2"`, `"2.36-9"`, `"2.36-9+deb12u1"`, `"2.14.1"`, `"2.15.0"`, `"startLine": 42`, `"startLine": 43`, `OpenSSH" version="7.4`, `OpenSSH" version="7.5`)
		for n, now := range [][]findings.Finding{read(string(b)), read(newer.Replace(string(b)))} {
			shuffled := slices.Clone(now)
			rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			for i, k := range match("192.0.2.7", shuffled, base) {
				if k < 0 {
					t.Errorf("%s: %+v is new", file, shuffled[i])
				} else if was := changes(shuffled[i], base[k]); n == 0 && was != nil {
					t.Errorf("%s: %+v has changed: %v", file, shuffled[i], was)
				}
			}
		}
	}
}

// TestMatchIsOneToOne: whatever two scans have found, each is matched once at most, a scan matches itself wholly, and what is in one
// alone by its ids is matched with nothing.
func TestMatchIsOneToOne(t *testing.T) {
	t.Parallel()
	one := rapid.Custom(func(t *rapid.T) findings.Finding {
		pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		f := findings.Finding{
			ID:       pick("id", "CVE-2024-0001", "CVE-2024-0002", "GHSA-a", "rule"),
			Title:    pick("title", "", "a", "b"),
			Package:  pick("package", "", "p 1", "p 2", "q 1"),
			Location: pick("location", "", "/a", "/tmp/x1/a", "/tmp/x2/a", "f.py:1", "f.py:2", "http://h/?1", "http://h/?2", "192.0.2.7:22/tcp"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "aliases") {
			f.Aliases = append(f.Aliases, pick("alias", "GHSA-a", "GHSA-b", "CVE-2024-0001", "DSA-1"))
		}
		return f
	})
	rapid.Check(t, func(t *rapid.T) {
		now, base := rapid.SliceOfN(one, 0, 12).Draw(t, "now"), rapid.SliceOfN(one, 0, 12).Draw(t, "base")
		seen := map[int]bool{}
		for i, k := range match("x", now, base) {
			if k < 0 {
				continue
			}
			if seen[k] {
				t.Fatalf("%d of the base is matched twice", k)
			}
			seen[k] = true
			shared := slices.ContainsFunc(names(now[i]), func(name string) bool { return slices.Contains(names(base[k]), name) })
			if !shared || !akin(now[i], base[k]) {
				t.Fatalf("%+v was matched with %+v", now[i], base[k])
			}
		}
		for i, k := range match("x", now, now) {
			if k < 0 || changes(now[i], now[k]) != nil {
				t.Fatalf("%+v is not found again in its own scan", now[i])
			}
		}
	})
}

// FuzzMatch: places and packages are of any form.
func FuzzMatch(f *testing.F) {
	f.Add("CVE-2024-0002", "a 1", "/tmp/x/a:3", "web-01")
	f.Add("x", " 1", "[::1]:22/tcp", "::1")
	f.Fuzz(func(t *testing.T, id, pkg, place, asset string) {
		one := findings.Finding{ID: id, Package: pkg, Location: place}
		two := findings.Finding{ID: id, Package: pkg, Location: place, Title: fmt.Sprint(len(place))}
		if got := match(asset, []findings.Finding{one, two}, []findings.Finding{two, one}); !slices.Equal(got, []int{1, 0}) {
			t.Errorf("got %v", got)
		}
	})
}
