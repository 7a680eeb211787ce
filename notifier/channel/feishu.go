// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"
)

var feishuKind = kind{
	name: "feishu", keys: append(slices.Clone(robotKeys), "secret_file"), rates: []string{"100/m", "5/s"}, secret: true,
	open: func(o *opening) Sender { return openRobot(o, feishu) },
}

// feishu is a custom robot of Feishu, or of Lark. It takes bodies of at most 20 KiB, of which the sign needs some. Its posts
// show a piece of text as it is, without reading markdown in it.
var feishu = robotKind{
	limit: 20<<10 - 256,
	tame:  inert,
	codes: &feishuCodes,
	form: func(r *robot, subject, text string) (any, error) {
		lines := [][]feishuTag{{{Tag: "text", Text: text}}}
		var named []feishuTag
		for _, m := range r.Mentions {
			if m == everybody {
				m = "all"
			}
			named = append(named, feishuTag{Tag: "at", User: m})
		}
		if len(named) > 0 {
			lines = append(lines, named)
		}
		locale := "en_us"
		if r.Language == "zh" {
			locale = "zh_cn"
		}
		post := map[string]any{locale: map[string]any{"title": subject, "content": lines}}
		return map[string]any{"msg_type": "post", "content": map[string]any{"post": post}}, nil
	},
	sign: func(secret string, now time.Time, to string, body []byte) (string, []byte) {
		at := strconv.FormatInt(now.Unix(), 10)
		first := fmt.Sprintf(`{"timestamp":"%s","sign":"%s",`, at, hmacOf(at+"\n"+secret, ""))
		return to, append([]byte(first), bytes.TrimPrefix(body, []byte("{"))...)
	},
}

type feishuTag struct {
	Tag  string `json:"tag"`
	Text string `json:"text,omitempty"`
	User string `json:"user_id,omitempty"`
}

// feishuCodes are the codes that Feishu's page about custom robots names, and those of its gateway.
var feishuCodes = robotCodes{
	slow: 10 * time.Second,
	of: map[int]verdict{
		2200:     busy,     // an error of its own
		9499:     mendable, // too many requests, or a bad body
		11232:    slowDown, // 100 a minute and 5 a second, or all of Feishu is busy
		19001:    refused,  // the URL is no robot's
		19002:    refused,  // bad parameters
		19021:    mendable, // the sign or the time is not right
		19022:    mendable, // not from this address
		19024:    refused,  // a key word is missing
		99991400: slowDown, // the gateway's own limit
	},
}
