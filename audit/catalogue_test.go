// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/journal"
)

const catalogueFile = "../packaging/picket.catalog"

// mayLack are the fields that records of a kind may be without: a call on a claim that there is not has no ticket. The process is
// never known of an agent in another PID namespace.
var mayLack = map[string][]string{
	"refused":     {"PICKET_TICKET", "PICKET_ASSET", "PICKET_TOKEN", "PICKET_REASON", "PICKET_AGENT_UID"},
	"unconfirmed": {"PICKET_TICKET", "PICKET_TOKEN"},
}

// TestG12_TheCatalogueHasATextForEachKind, in systemd's form, and for no other.
func TestG12_TheCatalogueHasATextForEachKind(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(catalogueFile)
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?ms)^# (\w+)\n-- ([0-9a-f]{32})\nSubject: ([^\n]+)\nDefined-By: Picket\nSupport: https://\S+\n\n(.*?)(?:\n\n#|\z)`)
	found := map[string]string{}
	for rest := string(b); ; {
		m := entry.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		kind, id, subject, text := rest[m[2]:m[3]], rest[m[4]:m[5]], rest[m[6]:m[7]], rest[m[8]:m[9]]
		if _, twice := found[kind]; twice {
			t.Errorf("%s has two texts", kind)
		}
		found[kind] = id
		if len(strings.TrimSpace(text)) < 50 {
			t.Errorf("%s: the text helps nobody: %q", kind, text)
		}
		for _, name := range regexp.MustCompile(`@(\w+)@`).FindAllStringSubmatch(subject+text, -1) {
			if !slices.ContainsFunc(columns, func(c column) bool { return c.name == name[1] }) {
				t.Errorf("%s: there is no field %s", kind, name[1])
			}
			if slices.Contains(mayLack[kind], name[1]) || name[1] == "PICKET_AGENT_PID" {
				t.Errorf("%s: a record may lack %s, and journalctl would show the name between its signs", kind, name[1])
			}
		}
		rest = rest[m[9]:]
	}
	for kind, m := range meanings {
		if found[string(kind)] != m.id {
			t.Errorf("%s: the catalogue has id %q, the code %q", kind, found[string(kind)], m.id)
		}
	}
	if n := strings.Count(string(b), "\n-- "); n != len(meanings) {
		t.Errorf("the catalogue has %d texts for %d kinds", n, len(meanings))
	}
}

// TestJournalctlTakesTheCatalogue compiles it, as the package does.
func TestJournalctlTakesTheCatalogue(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("journalctl"); err != nil {
		t.Skip("journalctl is missing: it is in Debian's package systemd")
	}
	root := t.TempDir()
	folder := filepath.Join(root, "usr/lib/systemd/catalog")
	for _, dir := range []string{folder, filepath.Join(root, "var/lib/systemd/catalog")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(catalogueFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "picket.catalog"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("journalctl", "--root="+root, "--update-catalog").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := exec.Command("journalctl", "--root="+root, "--list-catalog").Output()
	if err != nil {
		t.Fatal(err)
	}
	for kind, m := range meanings {
		if !strings.Contains(string(out), m.id+" Picket: ") {
			t.Errorf("journalctl lists no text for %s", kind)
		}
	}
}

// TestTheAuditsPageSaysWhatTheCodeDoes: docs/audit.md has a row for each field and each kind, and no other.
func TestTheAuditsPageSaysWhatTheCodeDoes(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(b), -1) {
		fields = append(fields, m[1])
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	if !slices.Equal(slices.Sorted(slices.Values(fields)), slices.Sorted(slices.Values(names))) {
		t.Errorf("the page has the fields %v, the code %v", fields, names)
	}
	priorities := map[string]journal.Priority{
		"err": journal.PriErr, "warning": journal.PriWarning, "notice": journal.PriNotice, "info": journal.PriInfo,
	}
	kinds := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| .* \\| (\\w+) \\| `([0-9a-f]+)` \\|$").FindAllStringSubmatch(string(b), -1) {
		kinds[m[1]] = true
		if want := meanings[Kind(m[1])]; want.id != m[3] || want.priority != priorities[m[2]] {
			t.Errorf("the page says of %s: %s, %s; the code %+v", m[1], m[2], m[3], want)
		}
	}
	if len(kinds) != len(meanings) {
		t.Errorf("the page has %d kinds, want %d", len(kinds), len(meanings))
	}
}

// fullRecord has something in each of its fields.
func fullRecord() *Record {
	r := newRecord(Event{
		Kind: Step, Asset: "a", Task: "t", Token: 1, From: "F", To: "T", Step: "s", Channel: "c",
		Call: "step", Code: "C", Host: "h", Agent: "1/2", Reason: "r",
	}, "r", 1, []span{{1, 2}})
	r.speak()
	return r
}

// TestARecordFillsAllFields, so that none of them is declared in vain.
func TestARecordFillsAllFields(t *testing.T) {
	t.Parallel()
	n := 0
	fullRecord().fields(func(string, string) { n++ })
	if n != len(columns) {
		t.Errorf("a record has %d of %d fields", n, len(columns))
	}
}

func TestEveryKindOfRecordHasAMeaning(t *testing.T) {
	t.Parallel()
	kinds, err := os.ReadFile("kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]Kind{}
	for _, found := range regexp.MustCompile(`(?m)^\t\w+ +Kind = "(\w+)"`).FindAllStringSubmatch(string(kinds), -1) {
		kind := Kind(found[1])
		m, ok := meanings[kind]
		if !ok || m.says == "" || len(m.id) != 32 || strings.Trim(m.id, "0123456789abcdef") != "" {
			t.Errorf("kind %s has no right meaning: %+v", kind, m)
		}
		if other, twice := ids[m.id]; twice {
			t.Errorf("%s and %s have the same id", kind, other)
		}
		ids[m.id] = kind
	}
	if len(ids) != len(meanings) {
		t.Errorf("there are %d meanings for %d kinds", len(meanings), len(ids))
	}
}
