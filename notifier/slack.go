// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import "strings"

// slack is the form of Slack's incoming webhooks, which many others take. Slack cuts texts of more than 40,000 characters.
var slack = robotKind{
	limit: 40_000,
	head:  "{{.Subject}}\n",
	tame:  func(s string) string { return slackEntities.Replace(inert(s)) },
	form: func(r *robot, _, text string) any {
		for _, m := range r.mentions {
			if m == everybody {
				m = "!channel"
			} else {
				m = "@" + m
			}
			text += " <" + m + ">"
		}
		return struct {
			Text   string `json:"text"`
			Mrkdwn bool   `json:"mrkdwn"` // false: stars and underscores stay what they are
		}{text, false}
	},
}

// slackEntities are the three characters that Slack wants written so; commands and links begin with one of them.
var slackEntities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
