// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

var slackKind = kind{
	name: "slack", keys: append(slices.Clone(robotKeys), "max_length"), secret: true,
	open: func(o *opening) Sender {
		ok := o.MaxLength == 0 || o.MaxLength >= slackLeast && o.MaxLength <= slackLimit
		o.Demand(ok, "max_length", "must be %d to %d characters", slackLeast, slackLimit)
		return openRobot(o, slack)
	},
}

const (
	slackLeast = 1000   // characters: severity, title, ticket and id must have room
	slackLimit = 40_000 // bytes; Slack takes no more characters
)

// slackBody is what an incoming webhook of Slack takes.
type slackBody struct {
	Text   string `json:"text"`
	Mrkdwn bool   `json:"mrkdwn"` // false: stars and underscores stay what they are
}

// length is that of the text in UTF-16 units, the most that a receiver can count.
func (b slackBody) length() int { return len(utf16.Encode([]rune(b.Text))) }

// The most characters that the receivers of Slack's form take, which refuse what is longer.
const (
	discordMost    = 2000
	rocketChatMost = 5000
	mattermostMost = 16_383
)

var (
	rocketChatPath = regexp.MustCompile(`/hooks/[^/]+/[^/]+/?$`)
	mattermostPath = regexp.MustCompile(`/hooks/[^/]+/?$`)
)

// slackMost tells by a URL how many characters its receiver takes: Discord's ends in /slack, Rocket.Chat's in /hooks/ID/TOKEN,
// Mattermost's in /hooks/ID. Of any other nothing is known beyond a body's limit.
func slackMost(to string) int {
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return slackLimit
	case strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/slack"):
		return discordMost
	case rocketChatPath.MatchString(u.Path):
		return rocketChatMost
	case mattermostPath.MatchString(u.Path):
		return mattermostMost
	}
	return slackLimit
}

// slack is the form of Slack's incoming webhooks, which many others take. Slack cuts texts of more than 40,000 characters.
var slack = robotKind{
	limit: slackLimit,
	head:  "{{.Subject}}\n",
	tame:  func(s string) string { return slackEntities.Replace(inert(s)) },
	form: func(r *robot, _, text string) (any, error) {
		for _, m := range r.Mentions {
			if m == everybody {
				m = "!channel"
			} else {
				m = "@" + m
			}
			text += " <" + m + ">"
		}
		body := slackBody{Text: text}
		if body.length() > cmp.Or(r.MaxLength, slackMost(r.url)) {
			return nil, errTextTooLong
		}
		return body, nil
	},
}

// slackEntities are the three characters that Slack wants written so; commands and links begin with one of them.
var slackEntities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
