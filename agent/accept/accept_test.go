// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/findings"
)

// written is a file with this content.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// anEntry is a good entry, with lines of it replaced by those of the same key.
func anEntry(lines ...string) string {
	text := "[[accept]]\nid = \"CVE-2024-1234\"\nassets = [\"web-*\", \"10.0.0.0/8\"]\nuntil = 2027-01-31\nby = \"security\"\nreason = \"not reachable from outside\"\n"
	for _, line := range lines {
		key, _, _ := strings.Cut(line, " ")
		all := strings.SplitAfter(text, "\n")
		for i, old := range all {
			if strings.HasPrefix(old, key+" ") {
				all[i] = line + "\n"
				line = ""
			}
		}
		text = strings.Join(all, "")
		if line != "" {
			text += line + "\n"
		}
	}
	return text
}

var inTime = time.Date(2027, 1, 31, 23, 59, 59, 0, time.UTC)

// TestAnAcceptanceMeetsWhatItSays and nothing else.
func TestAnAcceptanceMeetsWhatItSays(t *testing.T) {
	t.Parallel()
	found := findings.Finding{ID: "CVE-2024-1234", Package: "log4j-core 2.14.1", Aliases: []string{"GHSA-jfh8-c2jp-5v3q"}}
	for _, c := range []struct {
		entry, asset string
		at           time.Time
		accepted     bool
	}{
		{anEntry(), "web-01", inTime, true},
		{anEntry(), "web-01", inTime.Add(time.Second), false}, // the day has ended, in UTC
		{anEntry(), "web-01", inTime.In(time.FixedZone("", 3600)), true},
		{anEntry(), "db-01", inTime, false},
		{anEntry(), "a-web-01", inTime, false},
		{anEntry(), "10.1.2.3", inTime, true},
		{anEntry(), "https://10.1.2.3:8443/x", inTime, true},
		{anEntry(), "11.1.2.3", inTime, false},
		{anEntry(), "10.example.com", inTime, false},
		{anEntry(`assets = ["*"]`), "db-01", inTime, true},
		{anEntry(`assets = ["2001:db8::/32"]`), "2001:0db8::1", inTime, true},
		{anEntry(`assets = ["2001:db8::/32"]`), "[2001:db8::1]:443", inTime, true},
		{anEntry(`assets = ["WEB-*.Example.COM"]`), "web-1.example.com", inTime, true},
		{anEntry(`assets = ["Web.Example.COM."]`), "web.example.com", inTime, true},
		{anEntry(`assets = ["*-01.*.com"]`), "web-01.example.com", inTime, true},
		{anEntry(`assets = ["a*a"]`), "a", inTime, false},
		{anEntry(`assets = ["web-01"]`), "web-011", inTime, false},
		{anEntry(`id = "ghsa-jfh8-c2jp-5v3q"`), "web-01", inTime, true},
		{anEntry(`id = "cve-2024-1234"`), "web-01", inTime, true},
		{anEntry(`id = "CVE-2024-12345"`), "web-01", inTime, false},
		{anEntry(`package = "log4j-core"`), "web-01", inTime, true},
		{anEntry(`package = "log4j-core 2.14.1"`), "web-01", inTime, true},
		{anEntry(`package = "log4j"`), "web-01", inTime, false},
		{anEntry(`package = "log4j-core 2.14.10"`), "web-01", inTime, false},
		{anEntry(`until = 2026-01-01`) + anEntry(), "web-01", inTime, true},
	} {
		l, err := Open([]string{written(t, "accepted.toml", c.entry)}, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.entry, err)
		}
		a := l.Judge(c.asset, []findings.Finding{{ID: "CVE-2020-0001"}, found}, c.at)
		if (a.Count == 1) != c.accepted || c.accepted && (a.At != "1" || a.Risks[0].Reason != "not reachable from outside") {
			t.Errorf("%s on %s: %+v", c.entry, c.asset, a)
		}
		if c.at.After(inTime) && (len(a.Ended) != 1 || a.Ended[0].Until != "2027-01-31" || a.Ended[0].At != "1") {
			t.Errorf("what is over is not told: %+v", a)
		}
	}
}

func TestAFindingOfSeveralCVEsIsAcceptedAsAWhole(t *testing.T) {
	t.Parallel()
	found := findings.Finding{ID: "CVE-2024-1234", Aliases: []string{"GHSA-jfh8-c2jp-5v3q", "cve-2024-5678"}}
	other, ended := `id = "CVE-2024-5678"`, `until = 2026-01-01`
	for _, c := range []struct {
		entries  string
		accepted bool
		ended    int
	}{
		{anEntry(), false, 0},
		{anEntry(other), false, 0},
		{anEntry() + anEntry(other), true, 0},
		{anEntry(`id = "GHSA-jfh8-c2jp-5v3q"`), true, 0},
		{anEntry() + anEntry(other, ended), false, 1},
		{anEntry(ended) + anEntry(other, ended), false, 1},
	} {
		l, err := Open([]string{written(t, "accepted.toml", c.entries)}, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.entries, err)
		}
		if a := l.Judge("web-01", []findings.Finding{found}, inTime); (a.Count == 1) != c.accepted || len(a.Ended) != c.ended {
			t.Errorf("%s: %+v", c.entries, a)
		}
	}
}

// TestAMistakeInAnEntryIsToldWithItsLine and what would be right.
func TestAMistakeInAnEntryIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		anEntry(`id = "CVE-2024-123"`):                          `:2: accept[0].id: is no CVE: write CVE, a year`,
		anEntry(`id = "CVE-2024–1234"`):                         `:2: accept[0].id: is no CVE`,
		anEntry(`id = "CVE 2024-1234"`):                         `:2: accept[0].id: is no CVE`,
		anEntry(`id = "CEV-2024-1234"`):                         `:2: accept[0].id: is none that is known: did you mean CVE-2024-1234?`,
		anEntry(`id = "CV-2024-1234"`):                          `did you mean CVE-2024-1234?`,
		anEntry(`id = "GHSA-jfh8-c2jp"`):                        `:2: accept[0].id: is no GHSA`,
		anEntry(`id = "CVE-2024-*"`):                            `:2: accept[0].id: is no pattern`,
		anEntry(`id = ""`):                                      `:2: accept[0].id: is missing`,
		anEntry(`id = " open-port"`):                            `:2: accept[0].id: is no id of a finding`,
		anEntry(`until = 2027-02-30`):                           `:4: accept[0].until: impossible date: write a day, such as 2027-01-31`,
		anEntry(`until = "2027-01-31"`):                         `:4: accept[0].until: must be a date without quotes, such as 2027-01-31`,
		anEntry(`until = 2027-01-31T00:00:00Z`):                 `:4: accept[0].until: must be a date without quotes`,
		anEntry(`until = 31-01-2027`):                           `:4: accept[0].until`,
		anEntry(`by = " "`):                                     `:5: accept[0].by: is empty`,
		anEntry(`reason = ""`):                                  `:6: accept[0].reason: is empty`,
		anEntry(`assets = []`):                                  `:3: accept[0].assets: is empty: write names`,
		anEntry(`assets = ["10.0.0.1/8"]`):                      `:3: accept[0].assets: "10.0.0.1/8" is an address within a network: write 10.0.0.0/8, or 10.0.0.1`,
		anEntry(`assets = ["10.0.0.0/33"]`):                     `:3: accept[0].assets: "10.0.0.0/33" is no network`,
		anEntry(`assets = ["web 01 "]`):                         `:3: accept[0].assets: "web 01" has spaces around it`,
		anEntry(`assets = [""]`):                                `:3: accept[0].assets: "" is empty`,
		anEntry(`assets = "web-01"`):                            `:3: accept[0].assets: must be a list of strings`,
		anEntry(`asset = ["web-01"]`):                           `:7: accept[0].asset: is not known: did you mean assets?`,
		anEntry(`package = " openssl"`):                         `:7: accept[0].package: is no package`,
		anEntry() + "[[acept]]\n":                               `:7: acept: is not known: did you mean accept?`,
		anEntry() + "[[accept]]\nid = \"x\"\n":                  `:7: accept[1].until: is missing`,
		strings.Replace(anEntry(), "[[accept]]", "[accept]", 1): `:1: accept: can stand more than once: write [[accept]]`,
	} {
		path := written(t, "accepted.toml", text)
		if _, err := Open([]string{path}, nil); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
	for _, id := range []string{"open-port", "license:GPL-3.0", "RUSTSEC-2021-0001", "DSA-5000-1", "PYSEC-2021-1", "CKV_AWS_1", "MAL-2024-1234", "USN-1234-1", "GO-2022-0001"} {
		if why := wrongID(id); why != "" {
			t.Errorf("%s: %s", id, why)
		}
	}
	if _, err := Open([]string{"/does/not/exist"}, []string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "cannot read /does/not/exist: no such file") || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("of no file: %v", err)
	}
	if _, err := Open([]string{written(t, "x", strings.Repeat("#", maxFile+1))}, nil); err == nil || !strings.Contains(err.Error(), "has more than 16 MiB") {
		t.Errorf("of one too large: %v", err)
	}
	if _, err := Open([]string{written(t, "x", strings.Repeat("[[accept]]\n", maxEntries+1))}, nil); err == nil || !strings.Contains(err.Error(), "write 20000 at most") {
		t.Errorf("of too many entries: %v", err)
	}
}

// TestWhatIsRecordedIsBounded: the places whole, the reasons as far as there is room.
func TestWhatIsRecordedIsBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var all []findings.Finding
	for i := range 600 {
		id := fmt.Sprintf("CVE-2024-%04d", i+1000)
		text.WriteString(anEntry(fmt.Sprintf("id = %q", id), fmt.Sprintf("reason = %q", strings.Repeat("r", 4000))))
		if all = append(all, findings.Finding{ID: id}); i%2 == 1 {
			all[i].ID = "other"
		}
	}
	l, err := Open([]string{written(t, "accepted.toml", text.String())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := l.Judge("web-01", all, inTime)
	size := len(a.At) + len(a.Files[0].Used)
	for _, r := range a.Risks {
		size += len(r.Reason) + 100
	}
	if a.Count != 300 || len(a.Risks)+a.More != 300 || len(a.Risks) < 50 || size > 100<<10 || !strings.HasPrefix(string(a.At), "0,2,4,") {
		t.Errorf("%d accepted, %d risks and %d more, in some %d bytes", a.Count, len(a.Risks), a.More, size)
	}
}

// TestAnEntryThatMeetsNothingIsNamed, once anything was assessed with its file.
func TestAnEntryThatMeetsNothingIsNamed(t *testing.T) {
	t.Parallel()
	path := written(t, "accepted.toml", anEntry()+anEntry(`id = "CVE-2024-9999"`)+anEntry(`id = "open-port"`, `until = 2020-01-01`))
	l, err := Open([]string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var u Use
	if unused, _ := l.Unused(&u); unused != nil {
		t.Errorf("before anything was assessed: %q", unused)
	}
	u.Add(nil)
	u.Add(l.Judge("web-01", []findings.Finding{{ID: "CVE-2024-1234"}}, inTime))
	u.Add(l.Judge("web-02", []findings.Finding{{ID: "open-port"}}, inTime))
	if unused, tickets := l.Unused(&u); tickets != 2 || len(unused) != 1 || unused[0] != "CVE-2024-9999 ("+path+":7)" {
		t.Errorf("over %d tickets: %q", tickets, unused)
	}
	var none *List
	if unused, _ := none.Unused(&u); unused != nil || none.Judge("web-01", nil, inTime) != nil {
		t.Error("of no list something is told")
	}
}

// TestThePageIsRight: its example is one.
func TestThePageIsRight(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/accepted.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "# /etc/picket/accepted.toml\n")
	example, _, _ = strings.Cut(example, "```")
	l, err := Open([]string{written(t, "accepted.toml", example)}, nil)
	if err != nil || len(l.rules) != 1 {
		t.Errorf("%q: %v", example, err)
	}
}

func FuzzEntries(f *testing.F) {
	f.Add(anEntry())
	f.Add("[[accept]]\nassets = [\"*\", 3]\nuntil = 1")
	f.Fuzz(func(t *testing.T, doc string) {
		rules, err := readEntries("f", []byte(doc))
		for _, r := range rules {
			if err == nil && (r.id == "" || r.reason == "" || r.over.IsZero()) {
				t.Errorf("%+v", r)
			}
		}
	})
}
