// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/outbox"
)

// robotKind is what tells the robots apart: members of a chat that post what is sent to their URL.
type robotKind struct {
	limit int                 // of a body, in bytes
	head  string              // how a text begins
	tame  func(string) string // takes from others' text what the robot would act on
	codes *robotCodes         // of its answers; nil: the HTTP status says all

	// form makes the body of what the robot's API takes. Its error is errTextTooLong.
	form func(r *robot, subject, text string) (any, error)
	// sign adds to URL and body what proves that the secret is known. nil: there is no such thing.
	sign func(secret string, now time.Time, to string, body []byte) (string, []byte)
}

// robotKeys are those of a robot; some have more.
var robotKeys = append(slices.Concat(urlKeys, proseKeys), "mentions")

// robot posts texts for people.
type robot struct {
	poster
	robotKind
	*prose
	Config
	secret string
}

var mentionForm = regexp.MustCompile(`^(@all|\+?[A-Za-z0-9][A-Za-z0-9_.@-]{0,63})$`)

func openRobot(o *opening, k robotKind) Sender {
	for _, m := range o.Mentions {
		o.Demand(mentionForm.MatchString(m), "mentions", "%q is nobody: write user ids or mobile numbers, without an @ before them, or \"@all\"", m)
	}
	secret := ""
	if k.sign != nil {
		secret = o.secret("secret_file", o.SecretFile, func(s string) error {
			if strings.HasPrefix(s, secretPrefix) || strings.ContainsAny(s, " \t") {
				return fmt.Errorf("cannot use %s: write the secret as the robot's settings show it, alone", o.SecretFile)
			}
			return nil
		})
	}
	return &robot{poster: newPoster(o, secret), robotKind: k, prose: newProse(o, k.head, k.tame), Config: o.Config, secret: secret}
}

func (r *robot) Render(m Message) ([]byte, error) {
	return r.fit(m, r.limit, func(subject, text string) ([]byte, error) {
		form, err := r.form(r, subject, text)
		if err != nil {
			return nil, err
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

// robotCodes says what the codes in a robot's answers mean. 0 is success.
type robotCodes struct {
	of   map[int]verdict
	dead *regexp.Regexp // what the message with a mendable code says when it is refused for good all the same; nil: nothing
	slow time.Duration  // how long to wait when told to slow down
}

// verdict is what a code means.
type verdict int

const (
	refused  verdict = iota + 1 // for good
	slowDown                    // not now, and nothing was done
	busy                        // not now, and whether it was done is not known
	mendable                    // nothing was done, for what a person or time mends: a clock, a secret, an address
)

// answered decides what a robot's answer means. Robots say in the body what went wrong, also with HTTP 200. A code that
// nothing is known of is tried again, because what is given up is lost; one with an HTTP status above 299 means what that says.
func (c *robotCodes) answered(r reply, from string, now time.Time) Result {
	var a struct {
		ErrCode    *int   `json:"errcode"`
		ErrMsg     string `json:"errmsg"`
		Code       *int   `json:"code"`
		Msg        string `json:"msg"`
		StatusCode *int   `json:"StatusCode"`
	}
	good := r.code >= 200 && r.code < 300
	err := json.Unmarshal(r.raw, &a)
	code := cmp.Or(a.ErrCode, a.Code, a.StatusCode)
	switch {
	case err != nil || code == nil:
		if good {
			return unanswered(true, WithDetail(fmt.Sprintf("HTTP %d from %s without a robot's code", r.code, from), r.body))
		}
		return answered(r, from, now)
	case *code == 0:
		return answered(r, from, now)
	}
	said := cmp.Or(a.ErrMsg, a.Msg)
	result := Result{Error: WithDetail(fmt.Sprintf("code %d from %s", *code, from), r.hide(said))}
	switch meaning := c.of[*code]; {
	case meaning == refused, meaning == mendable && c.dead != nil && c.dead.MatchString(said):
		result.Status = outbox.Dead
	case meaning == slowDown:
		result.Status, result.RetryAfter = outbox.Pending, max(retryAfter(r.header, now), c.slow)
	case meaning == mendable:
		result.Status, result.RetryAfter = outbox.Pending, retryAfter(r.header, now)
	case meaning == busy || good:
		result.Status, result.Doubtful = outbox.Pending, true
	default:
		return answered(r, from, now)
	}
	return result
}
