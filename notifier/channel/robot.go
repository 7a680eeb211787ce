// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
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
		o.demand(mentionForm.MatchString(m), "mentions", "%q is nobody: write user ids or mobile numbers, without an @ before them, or \"@all\"", m)
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
