// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/sockapi/client"
)

// few are assets for each section of a report.
func few() []Asset {
	k := known()
	worse := k["CVE-2024-6387"]
	worse.Severity, worse.CVSS = "medium", 5.9
	both := func(a Asset) Asset {
		a.Last = a.Base
		return a
	}
	return []Asset{
		both(Asset{Name: "web-01", Now: scanned("web-01", "w2", true, k["CVE-2021-44228"], k["CVE-2024-6387"]), Base: scanned("web-01", "w1", false, worse, k["CVE-2023-4911"])}),
		both(Asset{Name: "web-02", Now: scanned("web-02", "w2", false, k["CVE-2016-2781"]), Base: scanned("web-02", "w1", true, k["CVE-2021-44228"], k["CVE-2016-2781"])}),
		both(Asset{Name: "web-03", Now: failed("web-03", "w2", "the report cannot be used"), Base: scanned("web-03", "w1", false, k["CVE-2023-5363"])}),
		both(Asset{Name: "web-04", Now: offline("web-04", "w2"), Base: scanned("web-04", "w1", false)}),
		{Name: "web-05"},
		both(Asset{Name: "web-06", Base: scanned("web-06", "w1", false), Gone: true}),
	}
}

// rendered are the forms of a report, by the ends of their files' names.
func rendered(t *testing.T, h Header, all []Asset) map[string]string {
	t.Helper()
	var table, object, page, sheet bytes.Buffer
	c, err := NewCSV(&table)
	if err != nil {
		t.Fatal(err)
	}
	j := NewJSON()
	defer j.Close()
	m := New(h, c.Row, j.Row)
	for _, a := range all {
		if err := m.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	r := m.Report()
	for _, err := range []error{c.Flush(), j.Write(&object, r), r.Markdown(&page), r.HTML(&sheet)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := r.Facts(256 << 10)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = ReadFacts(b); err != nil { // the message is made from what was recorded
		t.Fatal(err)
	}
	return map[string]string{
		"csv": table.String(), "json": object.String(), "md": page.String(), "html": sheet.String(),
		"txt": f.Title() + "\n" + f.Severity() + "\n\n" + f.Text(32<<10) + "\n",
	}
}

// TestForms holds each form against testdata; with UPDATE_REPORTS=1 that is written anew.
func TestForms(t *testing.T) {
	t.Parallel()
	h := Header{List: "nightly", Task: "w2", Previous: "w1", At: noon, Notes: []string{"Another list under this name has other assets."}}
	for end, got := range rendered(t, h, few()) {
		file := "testdata/report." + end
		if os.Getenv("UPDATE_REPORTS") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got != string(want) {
			t.Errorf("%s (%v) is not what came out; UPDATE_REPORTS=1 writes:\n%s", file, err, got)
		}
	}
}

// TestJSONIsTheContract: the members of the object, and of what stands in its sections.
func TestJSONIsTheContract(t *testing.T) {
	t.Parallel()
	forms := rendered(t, Header{List: "nightly", Task: "w2", Previous: "w1", At: noon}, few())
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(forms["json"]), &object); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"counts":  "accepted assets failed findings fixed high_risk new not_scanned offline online unknown unreached",
		"new":     "aliases asset cvss epss fixed_in id kev location package severity title url",
		"changed": "aliases asset cvss epss fixed_in id kev location package severity title url was",
		"failed":  "asset error step",
	} {
		v := object[name]
		if name != "counts" {
			var list []json.RawMessage
			if err := json.Unmarshal(v, &list); err != nil || len(list) == 0 {
				t.Fatalf("%s: %s: %v", name, v, err)
			}
			v = list[0]
		}
		if got := strings.Join(members(t, v), " "); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	want := "accepted at changed counts failed fixed list new newly_high no_longer_high not_scanned notes previous task unreached"
	if got := strings.Join(members(t, json.RawMessage(forms["json"])), " "); got != want {
		t.Errorf("the object has %s, want %s", got, want)
	}
	first := rendered(t, Header{List: "nightly", Task: "w2", At: noon}, nil)["json"]
	if !strings.Contains(first, `"previous":null`) || !strings.Contains(first, `"new":[]`) || !json.Valid([]byte(first)) {
		t.Errorf("a first report of nothing is %s", first)
	}
}

func members(t *testing.T, object json.RawMessage) (names []string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatal(err)
	}
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// hostile is text that acts somewhere.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)>"'{{.}}` + "`" + `|[x](javascript:alert(1)) @all www.example.net https://example.net/ **b**`

// hostileAssets have it wherever a scanner, a command or an asset's name can put it.
func hostileAssets() []Asset {
	f := findings.Finding{ID: hostile, Severity: "critical", CVSS: 9, Title: hostile, Package: hostile, Location: hostile, FixedIn: hostile, Aliases: []string{hostile}, URL: "javascript:alert(1)"}
	linked := f
	linked.ID, linked.URL = "a", `https://example.com/)|"'onmouseover=alert(1)`
	name := "<b>" + hostile
	now := scanned(name, "w2", true, f, linked)
	return []Asset{
		{Name: name, Now: now, Last: scanned(name, "w1", false), Base: scanned(name, "w1", false)},
		{Name: hostile, Now: failed(hostile, "w2", hostile)},
		{Name: hostile + "2"},
	}
}

// TestHTMLIsHarmless: whatever stands in findings and names, the page has no script, no handler, nothing from the network, and no link
// but to http and https.
func TestHTMLIsHarmless(t *testing.T) {
	t.Parallel()
	h := Header{List: hostile, Task: "w2", Previous: "w1", At: noon, Notes: []string{hostile}, Earlier: []Past{{Task: hostile, At: noon, Counts: Counts{HighRisk: 1}}}}
	for name, all := range map[string][]Asset{"hostile": hostileAssets(), "few": few()} {
		text := rendered(t, h, all)["html"]
		known := map[string]string{
			"html": "lang", "head": "", "meta": "charset name content http-equiv", "title": "", "style": "", "body": "", "main": "", "header": "", "footer": "",
			"h1": "", "h2": "id", "p": "class role", "div": "class role aria-label", "span": "class", "b": "", "i": "class", "a": "href rel", "code": "",
			"ul": "class", "li": "", "table": "class", "thead": "", "tbody": "", "tr": "", "th": "", "td": "class data-l", "details": "class", "summary": "",
			"figure": "class", "figcaption": "", "svg": "class viewBox preserveAspectRatio role aria-label", "rect": "class x y width height rx", "line": "x1 x2 y1 y2",
		}
		d := xml.NewDecoder(strings.NewReader(text))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		inStyle := false
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if style, ok := token.(xml.CharData); ok && inStyle && regexp.MustCompile(`url\(|@import`).Match(style) {
				t.Errorf("%s: the style loads something", name)
			}
			n, ok := token.(xml.StartElement)
			if inStyle = n.Name.Local == "style"; !ok {
				continue
			}
			attributes, ok := known[n.Name.Local]
			if !ok {
				t.Errorf("%s: the page has an element %s", name, n.Name.Local)
			}
			for _, a := range n.Attr {
				if !slices.Contains(strings.Fields(attributes), a.Name.Local) {
					t.Errorf("%s: %s has an attribute %s=%q", name, n.Name.Local, a.Name.Local, a.Value)
				}
				if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "https://") && !strings.HasPrefix(a.Value, "http://") {
					t.Errorf("%s: a link leads to %q", name, a.Value)
				}
			}
		}
	}
}

// TestMarkdownIsHarmless: no cell ends early, and nothing in one acts.
func TestMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	page := rendered(t, Header{List: "nightly", Task: "w2", Previous: "w1", At: noon, Notes: []string{hostile}}, hostileAssets())["md"]
	columns := 0
	for line := range strings.Lines(page) {
		cells := len(regexp.MustCompile(`(^|[^\\])\|`).FindAllString(line, -1))
		if strings.HasPrefix(line, "| ---") || !strings.HasPrefix(line, "|") {
			columns = 0
		} else if columns == 0 {
			columns = cells
		}
		if strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "| ---") && columns != 0 && cells != columns {
			t.Errorf("%d cells, not %d: %s", cells, columns, line)
		}
		plain := regexp.MustCompile("``.*?``|`[^`]+`").ReplaceAllString(strings.ReplaceAll(line, "\\`", ""), "")
		if bad := regexp.MustCompile(`(^|[^\\])(<[a-z/]|\]\(j|@all|\*\*|https?://example\.net|www\.)`).FindString(plain); bad != "" {
			t.Errorf("%q acts in %s", bad, line)
		}
	}
}

// TestCSVHasNoFormulas: no cell begins with what a spreadsheet computes.
func TestCSVHasNoFormulas(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"=", "+", "-", "@", "\t=", "\r=", "\n=", "＝", "＋", "－", "＠", " =", "\u200b=", "\x1b[1m="} {
		evil := begin + `cmd|' /C calc'!A0`
		f := findings.Finding{ID: evil, Severity: "high", Title: evil, Package: evil, Location: evil, FixedIn: evil, Aliases: []string{evil}}
		all := []Asset{{Name: evil, Now: scanned(evil, "w2", false, f)}, {Name: evil, Now: failed(evil, "w2", evil)}}
		rows, err := csv.NewReader(strings.NewReader(rendered(t, Header{List: "nightly", Task: "w2", At: noon}, all)["csv"])).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if trimmed := strings.TrimLeft(cell, " \t\r\n\u200b"); trimmed != "" && strings.ContainsRune(formula, []rune(trimmed)[0]) {
					t.Errorf("%q begins a formula", cell)
				}
			}
		}
	}
}

// TestTextFits: whatever a chat takes, the text is cut to it, with the most severe first and how much is left out.
func TestTextFits(t *testing.T) {
	t.Parallel()
	var all []Asset
	for i := range 500 {
		severity := []string{"low", "medium", "critical"}[i%3]
		name := fmt.Sprintf("web-%03d", i)
		all = append(all, Asset{Name: name, Now: scanned(name, "w2", i%3 == 2, cve(i, severity), cve(9000, "high"))})
	}
	r, _ := made(t, "w1", all...)
	f, err := r.Facts(256 << 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{3, 100, 1000, 2000, 4096, 32 << 10} {
		text := f.Text(most)
		if len(text) > most {
			t.Errorf("%d bytes, of %d", len(text), most)
		}
		if most < 1000 {
			continue
		}
		if !strings.Contains(text, "The rest: picket report nightly w2") || !regexp.MustCompile(`and \d+ more`).MatchString(text) {
			t.Errorf("%d bytes do not say what is left out:\n%s", most, text)
		}
		if low, critical := strings.Index(text, "(low"), strings.Index(text, "(critical"); critical < 0 || low >= 0 && low < critical {
			t.Errorf("%d bytes do not begin with the most severe:\n%s", most, text)
		}
	}
	r, _ = made(t, "w1", all[:30]...)
	if f, err = r.Facts(256 << 10); err != nil || !strings.Contains(f.Text(32<<10), "on 30 assets: web-000") {
		t.Errorf("the same finding on many assets is not one line (%v):\n%s", err, f.Text(32<<10))
	}
}

// TestTitleHidesNothing: each of these nights is told in one line, and none as one in which nothing has changed.
func TestTitleHidesNothing(t *testing.T) {
	t.Parallel()
	critical, milder := cve(1, "critical"), cve(1, "low")
	before := func(t *client.Ticket, now *client.Ticket) Asset {
		return Asset{Name: t.Asset, Now: now, Last: t, Base: t}
	}
	quiet := func(name string) Asset { return before(scanned(name, "w1", false), scanned(name, "w2", false)) }
	untold := scanned("a", "w2", true, critical)
	untold.State, untold.Notification = client.StateFailed, &client.Notification{}
	for name, c := range map[string]struct {
		first bool
		all   []Asset
		want  string
	}{
		"quiet":                   {false, []Asset{quiet("a")}, "info nothing has changed"},
		"all failed or offline":   {false, []Asset{{Name: "a", Now: failed("a", "w2", "no scanner")}, before(offline("b", "w1"), offline("b", "w2"))}, "high nothing was scanned, 1 failed"},
		"all offline":             {false, []Asset{before(scanned("a", "w1", false), offline("a", "w2"))}, "high nothing was scanned, 1 no longer reachable"},
		"all offline as before":   {false, []Asset{before(offline("a", "w1"), offline("a", "w2"))}, "info nothing was scanned"},
		"scanned, and not told":   {false, []Asset{before(scanned("a", "w1", true, critical), untold)}, "medium 1 failed"},
		"milder":                  {false, []Asset{before(scanned("a", "w1", true, critical), scanned("a", "w2", false, milder))}, "info 1 changed, 1 no longer at high risk"},
		"accepted":                {false, []Asset{before(scanned("a", "w1", true, critical), accepting(scanned("a", "w2", false, critical), "0"))}, "info 1 no longer at high risk"},
		"a list was cut":          {false, []Asset{before(scanned("a", "w1", false, milder), cut(scanned("a", "w2", false), 9))}, "info 10 could not be compared"},
		"the first, with offline": {true, []Asset{{Name: "a", Now: offline("a", "w2")}, {Name: "b", Now: scanned("b", "w2", false)}}, "info 1 not reachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			previous := "w1"
			if c.first {
				previous = ""
			}
			r, _ := made(t, previous, c.all...)
			f, err := r.Facts(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Severity() + strings.TrimPrefix(f.Title(), "nightly/w2:"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			var page bytes.Buffer
			if err := r.HTML(&page); err != nil || strings.Contains(page.String(), "<title>nightly w2: nothing was scanned") != strings.Contains(c.want, "nothing was scanned") {
				t.Errorf("the title of its page says else (%v)", err)
			}
			for _, line := range f.Head() {
				if strings.HasPrefix(line, "NOTHING WAS SCANNED") != strings.Contains(c.want, "nothing was scanned") && line == f.Head()[0] {
					t.Errorf("its head begins %q", line)
				}
			}
		})
	}
}

// TestFactsWithoutRoomAreStillNews: what there was no room for counts all the same.
func TestFactsWithoutRoomAreStillNews(t *testing.T) {
	t.Parallel()
	calm, risky := scanned("a", "w1", false, cve(1, "low")), scanned("a", "w2", true, cve(1, "low"))
	for _, a := range []Asset{{Name: "a", Now: risky, Last: calm, Base: calm}, {Name: "a", Now: calm, Last: risky, Base: risky}} {
		r, _ := made(t, "w1", a)
		f, err := r.Facts(1)
		if want := map[bool]string{true: client.SeverityHigh, false: client.SeverityInfo}[*a.Now.HighRisk]; err != nil || !f.News() || f.Severity() != want {
			t.Errorf("news %v, %s (%v), want %s", f.News(), f.Severity(), err, want)
		}
	}
}

// TestTitleTellsWhenNothingWasScanned: a night in which all failed is no quiet one.
func TestTitleTellsWhenNothingWasScanned(t *testing.T) {
	t.Parallel()
	var all []Asset
	for i := range 16 {
		name := fmt.Sprintf("web-%02d", i)
		all = append(all, Asset{Name: name, Now: failed(name, "w2", "cannot start nuclei: no such file"), Base: scanned(name, "w1", false, cve(1, "low"))})
	}
	r, _ := made(t, "w1", all...)
	f, err := r.Facts(256 << 10)
	if err != nil {
		t.Fatal(err)
	}
	if want := "nightly/w2: nothing was scanned, 16 failed"; f.Title() != want || f.Severity() != "high" || !f.News() {
		t.Errorf("got %q, %s", f.Title(), f.Severity())
	}
	if text := f.Text(4096); !strings.HasPrefix(text, "NOTHING WAS SCANNED") || !strings.Contains(text, "16× vuln: cannot start nuclei: no such file (web-00, web-01, web-02 and 13 more)") {
		t.Errorf("got %s", text)
	}
}
