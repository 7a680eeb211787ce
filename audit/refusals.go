// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/picketd/picket/agent/plain"
)

// What one user's refused calls take of the journal.
const (
	refusedEach  = 20          // records of their own for one user and code, within refusedEvery
	refusedEvery = time.Minute // then one record tells how many more there were
	refusedUsers = 256         // users and codes that are counted apart; those beyond are counted as one for each code
)

// What a field may hold of what others sent, in bytes. Names that are valid are shorter.
const (
	nameMost   = 320
	reasonMost = 1024
)

// refusals counts what was refused since the last tick.
type refusals map[refusal]int

type refusal struct{ uid, code string }

// admit reports whether a refused call gets a record of its own.
func (r refusals) admit(e Event) bool {
	_, uid, _ := strings.Cut(e.Agent, "/")
	key := refusal{uid, e.Code}
	if _, known := r[key]; !known && len(r) >= refusedUsers {
		key.uid = ""
	}
	r[key]++
	return r[key] <= refusedEach
}

// take makes records of what was only counted, and begins anew.
func (r refusals) take() (events []Event) {
	for _, key := range slices.SortedFunc(maps.Keys(r), func(a, b refusal) int { return strings.Compare(a.uid+"/"+a.code, b.uid+"/"+b.code) }) {
		if more := r[key] - refusedEach; more > 0 {
			agent := ""
			if key.uid != "" {
				agent = "0/" + key.uid
			}
			events = append(events, Event{Kind: Refusals, Code: key.code, Agent: agent, Reason: fmt.Sprintf("%d more within %s", more, refusedEvery)})
		}
	}
	clear(r)
	return events
}

// bounded is an event whose fields are no longer than they may be, without control characters.
func bounded(e Event) Event {
	for _, name := range []*string{&e.Asset, &e.Task, &e.From, &e.To, &e.Step, &e.Channel, &e.Host} {
		*name = clip(*name, nameMost)
	}
	e.Reason = clip(e.Reason, reasonMost)
	return e
}

// clip cuts a text, and says so with an ellipsis.
func clip(s string, most int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, plain.Cut(s, most))
}
