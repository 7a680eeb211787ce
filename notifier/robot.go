// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// robotKind is what tells the robots apart: members of a chat that post what is sent to their URL.
type robotKind struct {
	limit int                 // of a body, in bytes
	rates []string            // what the robot bears, when no rate is configured
	head  string              // how a text begins
	tame  func(string) string // takes from others' text what the robot would act on
	codes *robotCodes         // of its answers; nil: the HTTP status says all

	// form makes the body of what the robot's API takes.
	form func(r *robot, subject, text string) any
	// sign adds to URL and body what proves that the secret is known. nil: there is no such thing.
	sign func(secret string, now time.Time, to string, body []byte) (string, []byte)
}

var robotKinds = map[string]robotKind{"slack": slack, "wecom": wecom, "dingtalk": dingtalk, "feishu": feishu}

// robot posts texts for people.
type robot struct {
	poster
	robotKind
	*prose
	secret   string
	most     int // characters of a slackBody
	mentions []string
	language string
}

func newRobot(cc ChannelConfig, version string) (*robot, error) {
	p, err := newPoster(cc, version, string(cc.Secret))
	if err != nil {
		return nil, err
	}
	kind := robotKinds[cc.Type]
	if cc.Type == "wecom" && len(cc.Mentions) == 0 {
		kind = wecomMarkdown
	}
	switch {
	case cc.Secret != nil && kind.sign == nil:
		return nil, fmt.Errorf("a %s channel has no secret; its url is one", cc.Type)
	case cc.Secret != nil && len(cc.Secret) == 0:
		return nil, errors.New("the secret is empty")
	}
	text, err := newProse(cc, kind.head, kind.tame)
	if err != nil {
		return nil, err
	}
	return &robot{
		poster: p, robotKind: kind, prose: text, secret: string(cc.Secret), most: cmp.Or(cc.MaxLength, slackMost(p.url)),
		mentions: cc.Mentions, language: cc.Language,
	}, nil
}

func (r *robot) Render(m Message) ([]byte, error) {
	return r.fit(m, r.limit, func(subject, text string) ([]byte, error) {
		form := r.form(r, subject, text)
		if s, ok := form.(slackBody); ok && s.length() > r.most {
			return nil, errTextTooLong
		}
		return plain.JSON(form)
	})
}

func (r *robot) Send(ctx context.Context, d Delivery) Result {
	now, to, body := time.Now(), r.url, d.Body
	if r.secret != "" {
		to, body = r.sign(r.secret, now, to, body)
	}
	read := int64(0)
	if r.codes != nil {
		read = maxAnswer
	}
	answer, failed := r.post(ctx, to, body, keyed(d.Key), read)
	switch {
	case failed != nil:
		return *failed
	case r.codes == nil:
		return answered(answer, r.shown, now)
	}
	return r.codes.answered(answer, r.shown, now)
}

// everybody in a channel's mentions is the whole chat.
const everybody = "@all"

// isMobile tells the number of a mobile phone from the id of a user.
func isMobile(mention string) bool {
	digits := strings.TrimPrefix(mention, "+")
	return len(digits) >= 8 && len(digits) <= 15 && strings.Trim(digits, "0123456789") == ""
}
