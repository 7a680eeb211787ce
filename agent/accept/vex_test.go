// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
)

// aDocument is an OpenVEX document of these statements, made at a time.
func aDocument(made string, statements ...string) string {
	return fmt.Sprintf(`{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://example.com/vex/1", "author": "Vendor", "role": "x",
"timestamp": %q, "version": 1, "tooling": "t", "statements": [%s]}`, made, strings.Join(statements, ",\n"))
}

// aStatement says that a product has a status; more is further members.
func aStatement(status, product, more string) string {
	return fmt.Sprintf(`{"vulnerability": {"name": "CVE-2024-1234", "aliases": ["GHSA-jfh8-c2jp-5v3q"]}, "products": [%s], "status": %q%s}`, product, status, more)
}

const (
	absent = `, "justification": "vulnerable_code_not_present"`
	early  = "2026-01-01T00:00:00Z"
	late   = "2026-06-01T00:00:00Z"
)

// TestAStatementMeetsItsProduct: the asset, or the package, and nothing else.
func TestAStatementMeetsItsProduct(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		product, asset, pkg string
		accepted            bool
	}{
		{`{"@id": "web-01"}`, "web-01", "openssl 3.0.1", true},
		{`{"@id": "https://example.com/app"}`, "https://example.com/app", "", true},
		{`{"@id": "web-02"}`, "web-01", "openssl 3.0.1", false},
		{`{"@id": "pkg:deb/debian/openssl@3.0.1?arch=amd64&distro=debian-12"}`, "web-01", "openssl 3.0.1", true},
		{`{"@id": "pkg:deb/debian/openssl@3.0.1"}`, "web-01", "openssl 3.0.10", false},
		{`{"@id": "pkg:deb/debian/openssl@3.0.1"}`, "web-01", "openssl", false},
		{`{"@id": "pkg:deb/debian/openssl@3.0.1"}`, "web-01", "libopenssl 3.0.1", false},
		{`{"@id": "pkg:deb/debian/openssl"}`, "web-01", "openssl 3.0.1", true},
		{`{"@id": "pkg:deb/debian/openssl"}`, "web-01", "openssl-libs 3.0.1", false},
		{`{"@id": "pkg:rpm/redhat/openssl@3.0.1?epoch=1"}`, "web-01", "openssl 1:3.0.1", true},
		{`{"@id": "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1"}`, "web-01", "org.apache.logging.log4j:log4j-core 2.14.1", true},
		{`{"@id": "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1"}`, "web-01", "log4j-core 2.14.1", true},
		{`{"@id": "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1"}`, "web-01", "com.example:log4j-core 2.14.1", false},
		{`{"@id": "pkg:npm/%40babel/traverse@7.0.0"}`, "web-01", "@babel/traverse 7.0.0", true},
		{`{"@id": "pkg:npm/%40babel/traverse@7.0.0"}`, "web-01", "traverse 7.0.0", false},
		{`{"@id": "pkg:golang/github.com/a/b@v1.2.3"}`, "web-01", "github.com/a/b 1.2.3", true},
		{`{"@id": "pkg:pypi/my-package@1"}`, "web-01", "My_Package 1", true},
		{`{"@id": "x", "identifiers": {"purl": "pkg:deb/debian/openssl@3.0.1"}}`, "web-01", "openssl 3.0.1", true},
		{`{"identifiers": {"cpe23": "cpe:2.3:a:openssl:openssl:3.0.1:*:*:*:*:*:*:*"}}`, "web-01", "openssl 3.0.1", false},
		{`{"@id": "web-01", "subcomponents": [{"@id": "pkg:deb/debian/openssl@3.0.1"}]}`, "web-01", "openssl 3.0.1", true},
		{`{"@id": "web-01", "subcomponents": [{"@id": "pkg:deb/debian/openssl@3.0.1"}]}`, "web-01", "zlib 1", false},
		{`{"@id": "web-01", "subcomponents": [{"@id": "pkg:deb/debian/openssl@3.0.1"}]}`, "web-02", "openssl 3.0.1", false},
		{`{"@id": "web-01", "subcomponents": [{"@id": "openssl"}]}`, "web-01", "openssl 3.0.1", false},
		{`{"@id": "pkg:deb/debian/openssl@3.0.1", "subcomponents": [{"@id": "pkg:deb/debian/openssl@3.0.1"}]}`, "web-01", "openssl 3.0.1", false},
		{`{"@id": "pkg:oci/app?repository_url=ghcr.io/acme/app"}`, "ghcr.io/acme/app:1.0", "openssl 3.0.1", true},
		{`{"@id": "pkg:oci/app?repository_url=ghcr.io/acme&tag=1.0"}`, "ghcr.io/acme/app:1.0", "openssl 3.0.1", true},
		{`{"@id": "pkg:oci/app?repository_url=ghcr.io/acme&tag=1.1"}`, "ghcr.io/acme/app:1.0", "openssl 3.0.1", false},
		{`{"@id": "pkg:oci/app?repository_url=ghcr.io/acme/app"}`, "ghcr.io/acme/app2:1.0", "openssl 3.0.1", false},
		{`{"@id": "pkg:oci/app@sha256%3Aab?repository_url=ghcr.io/acme/app"}`, "ghcr.io/acme/app@sha256:ab", "openssl 3.0.1", true},
		{`{"@id": "pkg:oci/app@sha256%3Aab?repository_url=ghcr.io/acme/app"}`, "ghcr.io/acme/app:1.0", "openssl 3.0.1", false},
		{`{"@id": "pkg:oci/app@sha256%3Aab"}`, "ghcr.io/acme/app@sha256:ab", "openssl 3.0.1", false},
	} {
		l, err := Open(nil, []string{written(t, "vex.json", aDocument(early, aStatement("not_affected", c.product, absent)))})
		if err != nil {
			t.Fatalf("%s: %v", c.product, err)
		}
		a := l.Judge(c.asset, []findings.Finding{{ID: "GHSA-JFH8-C2JP-5V3Q", Package: c.pkg}, {ID: "CVE-2024-9999", Package: c.pkg}}, inTime)
		if (a.Count == 1) != c.accepted {
			t.Errorf("%s of %s in %s: %+v", c.product, c.pkg, c.asset, a)
		}
		if unused, _ := l.Unused(used(l, c.asset, c.pkg)); (len(unused) == 0) != c.accepted {
			t.Errorf("%s of %s in %s: unused are %q", c.product, c.pkg, c.asset, unused)
		}
	}
}

// used is what a list's entries have met in one package of an asset.
func used(l *List, asset, pkg string) *Use {
	var u Use
	u.Add(l.Judge(asset, []findings.Finding{{ID: "CVE-2024-1234", Package: pkg}}, inTime))
	return &u
}

// TestTheLatestStatementDecides, of whatever document; and an entry needs none.
func TestTheLatestStatementDecides(t *testing.T) {
	t.Parallel()
	const web, openssl = `{"@id": "web-01"}`, `{"@id": "pkg:deb/debian/openssl"}`
	later := fmt.Sprintf(`, "timestamp": %q`, late)
	for name, c := range map[string]struct {
		entries  string
		vex      []string
		accepted bool
		reason   string
	}{
		"not affected":        {"", []string{aDocument(early, aStatement("not_affected", web, absent+`, "impact_statement": "it is not called"`))}, true, "vulnerable_code_not_present: it is not called"},
		"fixed":               {"", []string{aDocument(early, aStatement("fixed", web, ""))}, true, "fixed"},
		"affected":            {"", []string{aDocument(early, aStatement("affected", web, ""))}, false, ""},
		"under investigation": {"", []string{aDocument(early, aStatement("under_investigation", web, ""))}, false, ""},
		"affected later":      {"", []string{aDocument(early, aStatement("affected", openssl, later), aStatement("fixed", web, ""))}, false, ""},
		"fixed later":         {"", []string{aDocument(early, aStatement("fixed", openssl, later), aStatement("affected", web, ""))}, true, "fixed"},
		"another document":    {"", []string{aDocument(late, aStatement("affected", web, "")), aDocument(early, aStatement("fixed", web, ""))}, false, ""},
		"at the same time":    {"", []string{aDocument(early, aStatement("affected", web, ""), aStatement("fixed", web, ""))}, true, "fixed"},
		"an entry beside":     {anEntry(), []string{aDocument(late, aStatement("affected", web, ""))}, true, "not reachable from outside"},
		"an entry that ended": {anEntry("until = 2020-01-01"), []string{aDocument(late, aStatement("fixed", web, ""))}, true, "fixed"},
	} {
		var accepted, vex []string
		if c.entries != "" {
			accepted = append(accepted, written(t, "accepted.toml", c.entries))
		}
		for _, doc := range c.vex {
			vex = append(vex, written(t, "vex.json", doc))
		}
		l, err := Open(accepted, vex)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a := l.Judge("web-01", []findings.Finding{{ID: "CVE-2024-1234", Package: "openssl 3.0.1"}}, inTime)
		if (a.Count == 1) != c.accepted || c.accepted && (a.Risks[0].Reason != c.reason || len(a.Ended) > 0) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestAMistakeInADocumentIsTold: one that is passed over would accept too much.
func TestAMistakeInADocumentIsTold(t *testing.T) {
	t.Parallel()
	const web = `{"@id": "web-01"}`
	for doc, want := range map[string]string{
		aDocument(early, aStatement("not_afected", web, "")):                                          `statements[0].status: is "not_afected": did you mean not_affected?`,
		aDocument(early, aStatement("fixed", web, ""), aStatement("not_affected", web, "")):           `statements[1]: says not_affected, and not why`,
		aDocument(early, aStatement("not_affected", web, `, "justification": "not_present"`)):         `statements[0].justification: is "not_present"`,
		aDocument(early, aStatement("fixed", `{"@id": "web-01", "subcomponent": []}`, "")):            `:2: /statements/0/products/0/subcomponent: is not known in OpenVEX`,
		aDocument(early, aStatement("fixed", `"web-01"`, "")):                                         `/statements/0/products/0: must not be a JSON string`,
		aDocument(early, aStatement("fixed", `{"@id": "pkg:deb"}`, "")):                               `statements[0].products[0]: "pkg:deb" is no package URL`,
		aDocument(early, aStatement("fixed", `{"identifiers": {"purl": "openssl"}}`, "")):             `statements[0].products[0]: "openssl" is no package URL`,
		aDocument(early, aStatement("fixed", web, `, "Status": "fixed"`)):                             `/statements/0/Status: is not known in OpenVEX`,
		aDocument(early, aStatement("fixed", web, `, "status": "affected"`)):                          `/statements/0/status: is no JSON: duplicate object member name`,
		aDocument(early, aStatement("fixed", web, `, "timestamp": "yesterday"`)):                      `/statements/0/timestamp: cannot be used`,
		strings.Replace(aDocument(early, aStatement("fixed", web, "")), "CVE-2024-1234", "CVE-24", 1): `statements[0].vulnerability.name: is no CVE`,
		strings.Replace(aDocument(early, aStatement("fixed", web, "")), "v0.2.0", "v0.3.0", 1):        `@context: is "https://openvex.dev/ns/v0.3.0"`,
		strings.Replace(aDocument(early, aStatement("fixed", web, "")), `"Vendor"`, `""`, 1):          `author: is missing`,
		aDocument(early):                   `statements: has none`,
		aDocument(early, `{"x": 1}`)[:100]: `is no JSON: unexpected EOF`,
		aDocument(early, "{}") + "{}":      `is no JSON`,
		"null":                             `@context: is ""`,
		"":                                 `:1: the document: is no JSON`,
	} {
		path := written(t, "vex.json", doc)
		if _, err := Open(nil, []string{path}); err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", doc, err, want)
		}
	}
}

func FuzzVEX(f *testing.F) {
	f.Add(aDocument(early, aStatement("not_affected", `{"@id": "pkg:oci/app@sha256%3Aab?repository_url=ghcr.io/acme/app", "subcomponents": [{}]}`, absent)))
	f.Fuzz(func(t *testing.T, doc string) {
		rules, err := readVEX("f", []byte(doc))
		for _, r := range rules {
			if r.meets(subjectOf("web-01"), findings.Finding{ID: "x", Package: "p 1"}); err == nil && (r.id == "" || r.made.IsZero()) {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestAStatementThatAcceptsNothingIsNotNamed although it meets nothing.
func TestAStatementThatAcceptsNothingIsNotNamed(t *testing.T) {
	t.Parallel()
	l, err := Open(nil, []string{written(t, "vex.json", aDocument(early, aStatement("affected", `{"@id": "web-02"}`, ""), aStatement("fixed", `{"@id": "web-02"}, {"@id": "web-01"}`, "")))})
	if err != nil {
		t.Fatal(err)
	}
	if unused, _ := l.Unused(used(l, "web-01", "")); len(unused) != 1 || !strings.HasPrefix(unused[0], "CVE-2024-1234 in web-02 (") {
		t.Errorf("unused are %q", unused)
	}
}
