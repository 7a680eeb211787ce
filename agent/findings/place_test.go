// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import "testing"

// TestIdentityOutlastsAScan: what a scan makes up in a place is no part of what a finding is.
func TestIdentityOutlastsAScan(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"http://127.0.0.1/login?x=aaaa", "http://127.0.0.1/login?x=bbbb", "http://127.0.0.1/login#top", "HTTP://127.0.0.1/login?", "http://u@127.0.0.1/login"},
		{"web-01.example.com:8443/a?x=1", "web-01.example.com:8443/a?x=2"},
		{"/tmp/dc-8f3a/lib/a.jar", "/tmp/other/lib/a.jar"},
		{"image: /var/tmp/x1/lib/a.jar", "image: /var/tmp/x2/lib/a.jar"},
		{`C:\Users\me\AppData\Local\Temp\a1\pom.xml:3`, `C:\Users\me\AppData\Local\Temp\b2\pom.xml:3`},
		{"/var/folders/zz/abc_9/T/x1/pom.xml", "/var/folders/zz/abc_9/T/x2/pom.xml"},
		{"/build/tmp.Xy12Zq/a", "/build/tmp.Ab34Cd/a"},
		{"/build/tmp8f3k2j9/a", "/build/tmpq0w9e8r/a"},
		{"https://h/2abCDefGHijKLmnOPqrSTuvWX1.txt", "https://h/2zyXWvuTSrqPOnmLKjiHGfeDC9.txt"},
		{"https://h/x/0f8fad5b-d9cb-469f-a165-70867728950e/y", "https://h/x/7c9e6679-7425-40de-944b-e07fc1f90ae7/y"},
		{"app@sha256:6bea45f4e050ffdbb3a0f57a6c6f16318314a482f31442c4461a72a3ee2f3ee6", "app@sha256:22667f53682a2920948d19c7133ab1c9c3f745805c14125859d20cede07f11f9"},
		{"/scans/1796000000/a", "/scans/1796086400/a"},
	} {
		first := Finding{ID: "a", Package: "p 1", Location: same[0]}.Identity()
		for _, place := range same[1:] {
			if got := (Finding{ID: "a", Package: "p 1", Location: place}).Identity(); got != first {
				t.Errorf("%s: got %q, want %q", place, got, first)
			}
		}
	}
	seen := map[string]string{}
	for _, place := range []string{
		"", "http://127.0.0.1/login", "https://127.0.0.1/login", "http://127.0.0.1:8080/login", "http://127.0.0.1/Login", "http://127.0.0.2/login",
		"192.0.2.7:22/tcp", "192.0.2.7:23/tcp", "[2001:db8::1]:53/udp", "src/app.py:42", "src/app.py:43", "/tmp/a.jar", "/opt/temperature/a", "/opt/temperature/b",
		"template/a", "template/b", "a: line 3", "a: line 4", "/srv/internationalization/a", "/srv/misunderstandings/a", "What is it?",
	} {
		id := Finding{ID: "a", Location: place}.Identity()
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q are one", place, other)
		}
		seen[id] = place
	}
}
