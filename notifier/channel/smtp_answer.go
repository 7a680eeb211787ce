// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"errors"
	"net/textproto"
	"regexp"

	"github.com/picketd/picket/outbox"
)

// mailed decides what a failure to hand over a mail means: by the server's answer (RFC 5321 section 4.2.1), if there is one. Until
// all of a mail went out, no server delivers it. What a server says before it heard of the mail is about this host, or its login,
// which a person or time mends; so are some of the later answers.
func mailed(err error, stage mailStage, reason string) Result {
	switch code := smtpCode(err); {
	case code/100 == 5 && stage > greeted && !passes(err):
		return Result{Status: outbox.Dead, Error: reason}
	case code/100 == 4, code/100 == 5:
		return Result{Status: outbox.Pending, Error: reason}
	}
	return unanswered(stage == handedOver, reason)
}

// mailStage is how far an attempt came.
type mailStage int

const (
	greeted    mailStage = iota // connecting, greeting, logging in
	offered                     // naming who sends to whom, and giving the mail
	handedOver                  // all of the mail went out, its receipt is missing
)

// passing is what servers say with codes from 500 on of what is over some time later: a login that is wrong or demanded, a quota
// (5.4.5), too many mails or connections.
var passing = regexp.MustCompile(`(?i)^53[0-9] |\b5\.4\.5\b|frequency|rate.?limit|too (many|fast)|try (again|later)|quota|temporar|throttl`)

func passes(err error) bool {
	said, ok := errors.AsType[*textproto.Error](err)
	return ok && passing.MatchString(said.Error())
}

// tooMany is what servers say when a transaction has as many recipients as they take (RFC 5321 sections 4.5.3.1.10 and 4.2.3).
var tooMany = regexp.MustCompile(`(?i)^(452|552) |\b[45]\.5\.3\b|too many recipients|recipient (count|limit)`)

func crowded(err error) bool {
	said, ok := errors.AsType[*textproto.Error](err)
	return ok && tooMany.MatchString(said.Error())
}

// smtpCode is that of a mail server's answer, 0 if err is something else.
func smtpCode(err error) int {
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return said.Code
	}
	return 0
}
