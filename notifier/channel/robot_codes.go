// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/picketd/picket/outbox"
)

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
