// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import "time"

var wecomKind = kind{
	name: "wecom", keys: robotKeys, rates: []string{"20/m"}, secret: true,
	open: func(o *opening) Sender {
		if len(o.Mentions) == 0 {
			return openRobot(o, wecomMarkdown)
		}
		return openRobot(o, wecom)
	},
}

// wecom is a group robot of WeCom. Its markdown knows no mention of everybody and none by mobile number, so a channel with
// mentions takes the plain form, of which the robot takes 2,048 bytes; 4,096 of markdown.
var wecom = robotKind{
	limit: 2048,
	head:  "{{.Subject}}\n",
	tame:  inert,
	codes: &wecomCodes,
	form: func(r *robot, _, text string) (any, error) {
		form := wecomText{Type: "text"}
		form.Text.Content = text
		for _, m := range r.Mentions {
			if isMobile(m) {
				form.Text.Mobiles = append(form.Text.Mobiles, m)
			} else {
				form.Text.Users = append(form.Text.Users, m)
			}
		}
		return form, nil
	},
}

// wecomMarkdown is the same for a channel without mentions.
var wecomMarkdown = robotKind{
	limit: 4096, head: "**{{.Subject}}**\n", tame: inert, codes: &wecomCodes,
	form: func(_ *robot, _, text string) (any, error) {
		return map[string]any{"msgtype": "markdown", "markdown": map[string]string{"content": text}}, nil
	},
}

type wecomText struct {
	Type string `json:"msgtype"`
	Text struct {
		Content string   `json:"content"`
		Users   []string `json:"mentioned_list,omitempty"`
		Mobiles []string `json:"mentioned_mobile_list,omitempty"`
	} `json:"text"`
}

// wecomCodes are the codes that WeCom's list names for what a robot can meet.
var wecomCodes = robotCodes{
	slow: time.Minute,
	of: map[int]verdict{
		-1:    busy,     // the system is busy
		40008: refused,  // no such type of message
		40035: refused,  // bad parameters
		40058: refused,  // bad parameters, such as a text that is too long
		44004: refused,  // the text is empty
		45002: refused,  // the text is too long
		45009: slowDown, // 20 a minute
		45033: slowDown, // too many calls at once
		60020: mendable, // not from this address
		93000: refused,  // the URL is no robot's
		93004: refused,  // the robot is switched off
		93008: refused,  // the robot is not in the group
	},
}
