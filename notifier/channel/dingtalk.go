// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var dingtalkKind = kind{
	name: "dingtalk", keys: append(slices.Clone(robotKeys), "secret_file"), rates: []string{"20/m"}, secret: true,
	open: func(o *opening) Sender { return openRobot(o, dingtalk) },
}

// dingtalk is a custom robot of DingTalk. It takes bodies of at most 20,000 bytes.
var dingtalk = robotKind{
	limit: 20_000,
	head:  "**{{.Subject}}**\n\n",
	tame:  inert,
	codes: &dingtalkCodes,
	form: func(r *robot, subject, text string) (any, error) {
		form := dingtalkForm{Type: "markdown"}
		var named []string // a mention must stand in the text too
		for _, m := range r.Mentions {
			switch {
			case m == everybody:
				form.At.All = true
				continue
			case isMobile(m):
				form.At.Mobiles = append(form.At.Mobiles, m)
			default:
				form.At.Users = append(form.At.Users, m)
			}
			named = append(named, "@"+m)
		}
		if len(named) > 0 {
			text += "\n\n" + strings.Join(named, " ")
		}
		form.Markdown.Title = subject
		form.Markdown.Text = strings.ReplaceAll(text, "\n", "  \n") // a line end alone is none in markdown
		return form, nil
	},
	sign: func(secret string, now time.Time, to string, body []byte) (string, []byte) {
		at := strconv.FormatInt(now.UnixMilli(), 10)
		with := "?"
		if strings.Contains(to, "?") {
			with = "&"
		}
		return to + with + "timestamp=" + at + "&sign=" + url.QueryEscape(hmacOf(secret, at+"\n"+secret)), body
	},
}

type dingtalkForm struct {
	Type     string `json:"msgtype"`
	Markdown struct {
		Title string `json:"title"` // shown in the list of chats
		Text  string `json:"text"`
	} `json:"markdown"`
	At struct {
		Mobiles []string `json:"atMobiles,omitempty"`
		Users   []string `json:"atUserIds,omitempty"`
		All     bool     `json:"isAtAll"`
	} `json:"at"`
}

// hmacOf is HMAC-SHA256 in base64.
func hmacOf(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// dingtalkCodes are the codes that DingTalk's page about custom robots names, and the system's own. Who was too fast is shut
// out for 10 minutes.
var dingtalkCodes = robotCodes{
	slow: 10 * time.Minute,
	dead: regexp.MustCompile(`(?i)keyword|关键词`),
	of: map[int]verdict{
		-1:     busy,     // the system is busy
		40035:  refused,  // bad parameters
		130101: slowDown, // 20 a minute
		300001: refused,  // no such token
		300005: refused,  // no such token
		310000: mendable, // the sign, the time, the address or, as the message says, a key word is not what was agreed
		400013: refused,  // the group is dissolved
		400101: refused,  // no such token
		400102: refused,  // the robot is switched off
		400105: refused,  // no such type of message
		400106: refused,  // no such robot
		410100: slowDown, // too fast
		430101: refused,  // a link that is taken for unsafe
		430102: refused,  // a text that is not wanted
		430103: refused,  // a picture that is not wanted
		430104: refused,  // content that is not wanted
		460101: refused,  // longer than 20,000 bytes
	},
}
