// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/notifier/channel"
)

// TestTheExamplesOfChannelsWork: docs/channels.md has one for each type, with files for what they name.
func TestTheExamplesOfChannelsWork(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/channels.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	contents := map[string]string{
		"ops.secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "dingtalk.secret": "SEC0123456789", "feishu.secret": "0123456789",
		"mail.password": "correct horse",
	}
	for _, name := range regexp.MustCompile(`/etc/picket/([a-z]+\.[a-z]+)"`).FindAllStringSubmatch(string(doc), -1) {
		content := contents[name[1]]
		if content == "" {
			content = "https://robots.example.com/hook/0123456789"
		}
		if err := os.WriteFile(filepath.Join(dir, name[1]), []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		blocks = append(blocks, m[1])
	}
	c, err := load(t, strings.ReplaceAll(strings.Join(blocks, "\n"), "/etc/picket/", dir+"/"))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, ch := range c.Channels {
		types = append(types, ch.Type)
	}
	if !slices.Equal(types, channel.Types()) {
		t.Errorf("the examples are of %v, want %v", types, channel.Types())
	}
	template := regexp.MustCompile("(?s)```\n(.*?)```").FindSubmatch(doc)
	file := write(t, "template", string(template[1]))
	own := Channel{Name: "own", Type: "slack", URL: "https://robots.example.com/hook", TemplateFile: file}
	if problems := own.Check(files{}); len(problems) > 0 {
		t.Error(problems)
	}
}
