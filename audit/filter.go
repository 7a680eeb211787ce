// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import "time"

// eventField is the one by which a record is known.
const eventField = "PICKET_EVENT"

// Filter says which records are wanted.
type Filter struct {
	Like    Record    // has the fields that they must have; one that is empty does not matter
	Refused bool      // only what was refused, but for claims on what another holds, unless Like asks for a code
	Since   time.Time // not before
}

// Matches reports whether a record is wanted.
func (f *Filter) Matches(r *Record) bool {
	like, got := f.Like.value(), r.value()
	for _, c := range columns {
		if want := c.text(like); want != "" && want != c.text(got) {
			return false
		}
	}
	refused := r.Kind == Refusals || r.Kind == Refused && (r.Code != "LOCK_HELD" || f.Like.Code != "")
	return (!f.Refused || refused) && !r.Time.Before(f.Since)
}

// matches are what journalctl is to look for, so that it need not hand over all.
func (f *Filter) matches() []string {
	all := []string{"SYSLOG_IDENTIFIER=" + Identifier}
	f.Like.fields(func(name, value string) { all = append(all, name+"="+value) })
	if f.Refused {
		all = append(all, eventField+"="+string(Refused), eventField+"="+string(Refusals))
	}
	return all
}
