// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"fmt"
	"strings"
	"time"
)

const (
	minute   = int64(time.Minute) // after which a daemon tells of the refused calls that it only counted
	oneByOne = 20                 // of a user's calls that were refused with one code within that are recorded one by one
)

// counted are refused calls of a host with a code that a record tells of together.
type counted struct {
	host, code string
	from, to   int64 // when they were refused
	left       int   // how many of them have not been seen as calls
}

// moreRefused are the records of refused calls that were only counted: those of the minute before each one in the same run of the daemon,
// or of longer where it was frozen meanwhile. (docs/audit.md)
func (s *story) moreRefused() (all refusedMore) {
	made, began := s.made(), map[string]int64{} // by run
	for _, a := range s.audits {
		run := a.Fields["PICKET_RUN"]
		if first, known := began[run]; !known || made(a) < first {
			began[run] = made(a)
		}
	}
	for _, a := range s.audits {
		if a.Fields["PICKET_EVENT"] != "refusals" {
			continue
		}
		one := &counted{host: a.Host, code: a.Fields["PICKET_CODE"], to: made(a)}
		_, _ = fmt.Sscan(a.Fields["PICKET_REASON"], &one.left) // which is 0 if it says no number
		one.from = one.to - minute - int64(stall)
		for _, f := range s.faults {
			if f.target == a.Host && (f.name == "daemon pauses" || strings.HasPrefix(f.name, "daemon freezes")) && f.within(one.from, one.to) {
				one.from -= min(f.end, one.to) - f.begin
			}
		}
		one.from = max(one.from, began[a.Fields["PICKET_RUN"]])
		all = append(all, one)
	}
	return all
}

type refusedMore []*counted

// have: are so many of the calls among those that were only counted? They are not any more.
func (all refusedMore) have(t trace, calls []*call, missing int) bool {
	for _, one := range all {
		for _, c := range calls {
			if missing > 0 && one.left > 0 && one.host == t.host && one.code == t.code && c.sent <= one.to && c.came >= one.from {
				missing, one.left = missing-1, one.left-1
			}
		}
	}
	return missing == 0
}
