// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/picketd/picket/agent/plain"
)

// maxText bounds in bytes what a template may write.
const maxText = 256 << 10

var errTextTooLong = fmt.Errorf("the template writes more than %d KiB", maxText>>10)

// words are what a channel's own text is made of, in one language.
type words struct {
	severities map[string]string
	subject    string // of a severity and a title
	body       string // a template of view
	cut        string // stands where a text was cut
	test       [2]string
}

// DefaultLanguage is that of a channel without one.
const DefaultLanguage = "en"

var languages = map[string]words{
	"en": {
		severities: map[string]string{"info": "INFO", "low": "LOW", "medium": "MEDIUM", "high": "HIGH", "critical": "CRITICAL"},
		subject:    "[%s] %s",
		body:       "{{.Text}}\n\nTicket: {{.Ticket}}{{if gt .Run 1}} (run {{.Run}}){{end}}\nTime: {{.Time}}\nID: {{.ID}}",
		cut:        "… (cut here; the ticket has the whole text)",
		test:       [2]string{"A test message", "Somebody tries out this channel of Picket. There is nothing to do."},
	},
	"zh": {
		severities: map[string]string{"info": "提示", "low": "低危", "medium": "中危", "high": "高危", "critical": "严重"},
		subject:    "【%s】%s",
		body:       "{{.Text}}\n\n工单：{{.Ticket}}{{if gt .Run 1}}（第 {{.Run}} 轮）{{end}}\n时间：{{.Time}}\n编号：{{.ID}}",
		cut:        "…（内容已截断，完整内容见工单）",
		test:       [2]string{"测试消息", "有人正在测试 Picket 的这个通知渠道，无需处理。"},
	},
}

// view is what a template sees of a message. Nothing in it makes the receiver act.
type view struct {
	Subject  string // severity and title, in one line
	Severity string // as a word of the channel's language
	Level    string // info, low, medium, high or critical
	Title    string
	Text     string
	Ticket   string // ASSET/TASK
	Asset    string
	Task     string
	Run      int64
	Time     string // in UTC
	ID       string // 8 hexadecimal digits, the same for every attempt
}

// prose writes messages for people.
type prose struct {
	words
	own  *template.Template // with which the channel begins; nil: the one below
	safe *template.Template
	tame func(string) string // takes from others' text what the receiver would act on
}

// proseKeys are those of what people read.
var proseKeys = []string{"language", "template_file"}

// newProse makes one whose own texts begin with head, a piece of a template.
func newProse(o *opening, head string, tame func(string) string) *prose {
	w, ok := languages[cmp.Or(o.Language, DefaultLanguage)]
	o.Demand(ok, "language", "%q is not known: write one of en, zh", o.Language)
	p := &prose{words: w, safe: template.Must(template.New("").Parse(head + w.body)), tame: tame}
	if own := o.read("template_file", o.TemplateFile, func(name string) (string, error) { return o.Files.Template(name) }, checkTemplate); own != "" {
		p.own = template.Must(template.New("").Parse(own))
	}
	return p
}

// checkTemplate says what is wrong with a channel's template.
func checkTemplate(text string) error {
	t, err := template.New("template").Parse(text)
	if err != nil {
		return fmt.Errorf("cannot parse the template: %w", err)
	}
	if _, err := execute(t, view{Run: 1}); err != nil {
		return fmt.Errorf("cannot use the template: %w", err)
	}
	return nil
}

// subject is one line that says how bad it is, and what.
func (p *prose) subject(m Message) string {
	return fmt.Sprintf(p.words.subject, p.severities[m.Severity], p.tame(plain.Line(m.Title, MaxError)))
}

// fit writes m with as much of its text as lets what encode makes of it have at most limit bytes. A template of the channel's
// own that fails, or leaves too little room, gives way to Picket's: it must not keep a message from people.
func (p *prose) fit(m Message, limit int, encode func(subject, text string) ([]byte, error)) ([]byte, error) {
	subject := p.subject(m)
	v := view{
		Subject: subject, Severity: p.severities[m.Severity], Level: m.Severity, Title: p.tame(plain.Line(m.Title, MaxError)),
		Ticket: p.tame(plain.Line(m.Ticket, maxShown)), Asset: p.tame(plain.Line(m.Asset, maxShown)), Task: p.tame(m.Task),
		Run: m.Run, Time: m.At.UTC().Format(time.DateTime + " UTC"), ID: ID(m.Key),
	}
	text := plain.Text(m.Text)
	render := func(t *template.Template, n int) ([]byte, error) {
		v.Text = p.tame(text[:n])
		if n < len(text) {
			v.Text += p.cut
		}
		s, err := execute(t, v)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(s, v.ID) {
			s += "\n" + v.ID
		}
		return encode(subject, s)
	}
	for _, t := range []*template.Template{p.own, p.safe} {
		if t == nil {
			continue
		}
		if body, err := render(t, len(text)); err == nil && len(body) <= limit {
			return body, nil
		}
		n := sort.Search(len(text), func(n int) bool { // the first n that is too much
			body, err := render(t, boundary(text, n))
			return err != nil || len(body) > limit
		})
		if body, err := render(t, boundary(text, max(n-1, 0))); err == nil && len(body) <= limit {
			return body, nil
		}
	}
	return nil, fmt.Errorf("cannot make a text of at most %d bytes", limit)
}

// maxShown bounds what is shown of an asset's name, in bytes; where a text is short, it must leave room for the text.
const maxShown = 160

// boundary is the last boundary of a rune in s that is at most n.
func boundary(s string, n int) int {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func execute(t *template.Template, v view) (string, error) {
	var b bounded
	if err := t.Execute(&b, v); err != nil {
		if errors.Is(err, errTextTooLong) {
			return "", errTextTooLong
		}
		return "", err
	}
	return b.String(), nil
}

// bounded refuses what would make it longer than maxText.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, errTextTooLong
	}
	return b.Buffer.Write(p)
}

const gap = '\u200b' // has no width

// inert puts a gap where a robot would take others' text for a mention, a link, a picture, a tag, or a heading.
func inert(s string) string {
	var b strings.Builder
	before, begins := ' ', true
	whole := addresses.FindAllStringIndex(s, -1)
	for i, r := range s {
		for len(whole) > 0 && whole[0][1] <= i {
			whole = whole[1:]
		}
		if begins && (r == '#' || r == '>') || before == ']' && strings.ContainsRune("([:", r) {
			b.WriteRune(gap)
		}
		b.WriteRune(r)
		if r == '<' || r == '@' && (len(whole) == 0 || i < whole[0][0] || calls.MatchString(s[i:])) {
			b.WriteRune(gap)
		}
		begins = r == '\n' || begins && r == ' '
		before = r
	}
	return b.String()
}

// addresses are whole mail addresses, the only place where an @ is left as it is. calls is what calls a chat though it may be one:
// Discord reads no further than @everyone and @here.
var (
	addresses = regexp.MustCompile(`[A-Za-z0-9]([A-Za-z0-9._%+-]*[A-Za-z0-9])?@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}\b`)
	calls     = regexp.MustCompile(`^(?i)@(everyone|here|all\b|channel\b)`)
)
