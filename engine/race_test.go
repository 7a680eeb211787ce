// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"

	"github.com/picketd/picket/outbox"
)

func init() { contract["what changed since it was read is seen by the script"] = racesAreSeen }

// racesAreSeen asks the scripts what Go has asked before them, as it is when another daemon came between.
func racesAreSeen(t *testing.T, s *store) {
	f := s.fleet(t)
	e := f.frozen("host-a")
	c, _ := claimed(t, e, "races", "t")
	in := notified(t, e, c, "ops")
	ask := func(sc script, want code, args ...any) {
		t.Helper()
		r, err := e.run(t.Context(), sc, e.keys.all(c.Ticket), e.args(c.Ticket, 0, "", "1/0", "", args...)...)
		if err != nil || r.code != want {
			t.Errorf("%s %v: got code %d, %v, want %d", sc.name, args, r.code, err, want)
		}
	}
	ask(ownScript, codeGone, "somebody", "another", in)
	ask(ownScript, codeGone, e.box.ID(), "another", "an older intent")
	ask(retryScript, codeConflict, "new", "another", "an older intent", "why", ",ops,")
	ask(resolveScript, codeMismatch, "request", "discarded", "why", ",ops,", discardable, "an older intent")
	ask(resolveScript, codeConflict, "request", "sent", "why", ",ops,", settleable, in)
	if ticket, err := e.Ticket(t.Context(), c.Ticket); err != nil || ticket.Owner != e.box.ID() || ticket.Intent != in {
		t.Errorf("owner %s, intent %s, %v", ticket.Owner, ticket.Intent, err)
	}
	ask(ownScript, codeOK, e.box.ID(), "another", in)
	ask(ownScript, codeOK, e.box.ID(), "another", in) // its reply was lost
	deliver(t, e, c.Ticket, "ops", outbox.Sent, outbox.Go)
	ask(ownScript, codeGone, "another", "a third", in)
	ask(retryScript, codeIllegal, "new", "another", in, "why", ",ops,")
	if got := state(t, e, c.Ticket); got != Notified {
		t.Errorf("state is %s", got)
	}
}
