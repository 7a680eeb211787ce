// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var someMessage = Message{
	Key: "web-01/w48", Ticket: "web-01/w48", Asset: "web-01", Task: "w48", Run: 1, Title: "OpenSSH is old",
	Text: "CVE-2026-1\nCVE-2026-2", Severity: "critical", At: time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC),
}

func aRobot(t *testing.T, kind string, change ...func(*Config)) *robot {
	t.Helper()
	return made(t, Config{Name: "ops", Type: kind, URL: "https://robots.example.com/send?key=0123456789"}, change...).(*robot)
}

func rendered(t *testing.T, s Sender, m Message) string {
	t.Helper()
	body, err := s.Render(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func in(language string, mentions ...string) func(*Config) {
	return func(cc *Config) { cc.Language, cc.Mentions = language, mentions }
}

func TestWhatRobotsAreSent(t *testing.T) {
	t.Parallel()
	id := ID(someMessage.Key)
	if !strings.HasPrefix(webhookID(someMessage.Key), "msg_"+id) || len(id) != 32 {
		t.Errorf("%s does not begin with %s", webhookID(someMessage.Key), id)
	}
	en := `CVE-2026-1\nCVE-2026-2\n\nTicket: web-01/w48\nTime: 2026-11-29 08:00:00 UTC\nID: ` + id
	zh := `CVE-2026-1\nCVE-2026-2\n\n工单：web-01/w48\n时间：2026-11-29 08:00:00 UTC\n编号：` + id
	twice := func(s string) string { return strings.ReplaceAll(s, `\n`, `  \n`) }
	for _, c := range []struct {
		kind   string
		change func(*Config)
		want   string
	}{
		{"slack", in(""), `{"text":"[CRITICAL] OpenSSH is old\n` + en + `","mrkdwn":false}`},
		{"slack", in("zh", "@all", "U012AB3CD"), `{"text":"【严重】OpenSSH is old\n` + zh + ` <!channel> <@U012AB3CD>","mrkdwn":false}`},
		{"wecom", in("en"), `{"markdown":{"content":"**[CRITICAL] OpenSSH is old**\n` + en + `"},"msgtype":"markdown"}`},
		{
			"wecom", in("zh", "@all", "zhangsan", "13800001111"),
			`{"msgtype":"text","text":{"content":"【严重】OpenSSH is old\n` + zh + `","mentioned_list":["@all","zhangsan"],"mentioned_mobile_list":["13800001111"]}}`,
		},
		{
			"dingtalk", in(""),
			`{"msgtype":"markdown","markdown":{"title":"[CRITICAL] OpenSSH is old","text":"` + twice(`**[CRITICAL] OpenSSH is old**\n\n`+en) + `"},"at":{"isAtAll":false}}`,
		},
		{
			"dingtalk", in("zh", "@all", "13800001111", "u1"),
			`{"msgtype":"markdown","markdown":{"title":"【严重】OpenSSH is old","text":"` + twice(`**【严重】OpenSSH is old**\n\n`+zh+`\n\n@13800001111 @u1`) + `"},"at":{"atMobiles":["13800001111"],"atUserIds":["u1"],"isAtAll":true}}`,
		},
		{
			"feishu", in(""),
			`{"content":{"post":{"en_us":{"content":[[{"tag":"text","text":"` + en + `"}]],"title":"[CRITICAL] OpenSSH is old"}}},"msg_type":"post"}`,
		},
		{
			"feishu", in("zh", "@all", "ou_1"),
			`{"content":{"post":{"zh_cn":{"content":[[{"tag":"text","text":"` + zh + `"}],[{"tag":"at","user_id":"all"},{"tag":"at","user_id":"ou_1"}]],"title":"【严重】OpenSSH is old"}}},"msg_type":"post"}`,
		},
	} {
		if got := rendered(t, aRobot(t, c.kind, c.change), someMessage); got != c.want {
			t.Errorf("%s is sent\n%s\nwant\n%s", c.kind, got, c.want)
		}
	}
}

// Whatever an agent reports, it rings nobody, links nowhere, and fits.
func TestOthersTextIsOnlyShown(t *testing.T) {
	t.Parallel()
	acts := map[string]*regexp.Regexp{
		"slack":    regexp.MustCompile(`<|@(all|channel|here|everyone)|\]\(`),
		"wecom":    regexp.MustCompile(`<[@!a-z/]|\]\(|@(all|channel|here|everyone)`),
		"dingtalk": regexp.MustCompile(`<[@!a-z/]|\]\(|\]\[|\]:|@(all|channel|here|everyone)`),
		"feishu":   regexp.MustCompile(`<at|@(all|channel|here|everyone)`),
	}
	pieces := []string{
		"<!channel>", "<@all>", "<at user_id=\"all\">", "@all", "@channel", " @here", "@everyone", ".@all", "_@channel", "%@here", "a.@channel", "a@everyone", "a@all.example", "x@b.example@here", "[bank](https://evil.example)",
		"![p](https://evil.example/p)", "[a][b]", "\n[b]: https://evil.example", "<https://evil.example|bank>", "<font color=\"red\">",
		"\n# big", "\n> quote", "a@example.com", "密码泄露", "&", "\"", "\\", "\x1b[31m", "\u202e", "\u200b", "\r\n", "\xff", "x",
	}
	for kind, act := range acts {
		for _, mention := range [][]string{nil, {"zhangsan"}} {
			r := aRobot(t, kind, in("zh", mention...))
			rapid.Check(t, func(t *rapid.T) {
				m := someMessage
				n := rapid.SampledFrom([]int{3, 40, 4000}).Draw(t, "most")
				m.Text = strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, n).Draw(t, "text"), "")
				m.Title = strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "title"), "")
				m.Ticket = strings.Repeat("<", rapid.IntRange(0, 380).Draw(t, "ticket"))
				body, err := r.Render(m)
				if err != nil {
					t.Fatal(err)
				}
				if len(body) > r.limit || !json.Valid(body) || !utf8.Valid(body) {
					t.Fatalf("%s is sent %d bytes: %s", kind, len(body), body)
				}
				if !bytes.Contains(body, []byte(ID(m.Key))) {
					t.Fatalf("%s is sent no id: %s", kind, body)
				}
				var text strings.Builder
				collect(&text, body)
				theirs := strings.ReplaceAll(text.String(), " <@zhangsan>", "")
				if found := act.FindString(theirs); found != "" || strings.ContainsAny(theirs, "\x1b\u202e") {
					t.Fatalf("%s would act on %q in %s", kind, found, theirs)
				}
			})
		}
	}
}

// collect gathers the strings in a JSON value.
func collect(into *strings.Builder, body []byte) {
	var v any
	_ = json.Unmarshal(body, &v)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			into.WriteString(v + "\n")
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
}

func TestALongTextIsCutAtARuneWithANote(t *testing.T) {
	t.Parallel()
	m := someMessage
	m.Text = strings.Repeat("漏洞", 5000)
	for kind, limit := range map[string]int{"wecom": 4096, "dingtalk": 20_000, "feishu": 20 << 10} {
		body := rendered(t, aRobot(t, kind, in("zh")), m)
		if len(body) > limit || len(body) < limit-300 || !strings.Contains(body, "…（内容已截断，完整内容见工单）") || strings.Contains(body, "�") {
			t.Errorf("%s is sent %d bytes", kind, len(body))
		}
	}
}

// What takes Slack's form takes less of it, and refuses what is longer.
func TestATextIsCutToWhatTheReceiverTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url        string
		max, limit int
	}{
		{"https://discord.com/api/webhooks/1/abcdefgh/slack", 0, 2000},
		{"https://chat.example.com/hooks/5f1e/abcdefgh", 0, 5000},
		{"https://chat.example.com/hooks/abcdefgh", 0, 16_383},
		{"https://hooks.slack.com/services/T0/B0/abcdefgh", 0, 40_000},
		{"https://chat.example.com/hooks/abcdefgh", 4000, 4000},
	} {
		for _, piece := range []string{"x", "漏洞", "🔥", "<&"} {
			r := aRobot(t, "slack", func(cc *Config) { cc.URL, cc.MaxLength, cc.Mentions = c.url, c.max, []string{"@all"} })
			m := someMessage
			m.Text = strings.Repeat(piece, 32<<10/len(piece))
			var form struct{ Text string }
			if err := json.Unmarshal([]byte(rendered(t, r, m)), &form); err != nil {
				t.Fatal(err)
			}
			n := len(utf16.Encode([]rune(form.Text)))
			if n > c.limit || len(form.Text) < 30_000 && n < c.limit-30 || !strings.HasSuffix(form.Text, ID(m.Key)+" <!channel>") {
				t.Errorf("%s with %d is sent %d characters of %q: …%.80q", c.url, c.max, n, piece, form.Text[len(form.Text)-80:])
			}
		}
	}
}

func TestATemplateOfTheChannelsOwn(t *testing.T) {
	t.Parallel()
	own := func(text string) *robot {
		return aRobot(t, "slack", func(cc *Config) { cc.TemplateFile = write(t, text) })
	}
	id := ID(someMessage.Key)
	if got, want := rendered(t, own("{{.Level}}: {{.Title}} on {{.Asset}}"), someMessage), `{"text":"critical: OpenSSH is old on web-01\n`+id+`","mrkdwn":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []string{
		`{{if .Title}}{{index .Text 99999}}{{end}}`, `{{if .Title}}{{range 99999999}}too much{{end}}{{end}}`,
		`{{if .Title}}{{printf "%60000d" 1}}{{end}}`,
	} {
		if got := rendered(t, own(bad), someMessage); got != rendered(t, aRobot(t, "slack"), someMessage) {
			t.Errorf("%s gives %.200s", bad, got)
		}
	}
	if err := checkTemplate(`{{range 99999999}}too much{{end}}`); err == nil || !strings.Contains(err.Error(), "256 KiB") {
		t.Errorf("got %v", err)
	}
}

// Only a whole address keeps its @ as it is.
func TestWhatComesAfterAnAtSign(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"@all", ".@all", "-@all", "_@channel", "%@here", "+@everyone", "a.@channel", "a@everyone", "1@here", "é@all", "@所有人", "a@b",
		"user@all", "GET /?u=%@all", "a@everyone.example", "a@here.example.com", "a@all.example", "a@.example", "a-@b.example",
		"@@all", "a@b.example.@all", "@zhangsan", "a@b@c",
	} {
		for i := 0; ; i++ {
			got := inert(s)
			at := strings.IndexByte(got[i:], '@')
			if at < 0 {
				break
			}
			if i += at; !strings.HasPrefix(got[i+1:], string(gap)) && !strings.HasPrefix(got[i-1:], "a@b.example") {
				t.Errorf("%q is shown as %+q", s, got)
			}
		}
	}
	for _, s := range []string{"ops@example.com", "mail a.b+c@mail.example.co.uk, please", "<x@example.com>", "a@allianz.example"} {
		if got := strings.ReplaceAll(inert(s), "<"+string(gap), "<"); got != s {
			t.Errorf("the address in %q is shown as %+q", s, got)
		}
	}
}
