// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// check looks whether a value that was given is within its field's limits.
func (f field) check(wrong *violations, at string, value any) {
	switch value := value.(type) {
	case string:
		f.checkString(wrong, at, value)
	case int:
		f.checkNumber(wrong, at, int64(value))
	case json.RawMessage:
		if int64(len(value)) > f.max {
			wrong.add(at, fmt.Sprintf("must be at most %d bytes", f.max))
		}
	case []string:
		if n := len(value); n < f.items[0] || n > f.items[1] {
			wrong.add(at, fmt.Sprintf("must have %d to %d entries", f.items[0], f.items[1]))
			return
		}
		seen := make(map[string]bool, len(value))
		for i, s := range value {
			if seen[s] {
				wrong.add(at, "has an entry twice")
				return
			}
			seen[s] = true
			f.checkString(wrong, fmt.Sprintf("%s[%d]", at, i), s)
		}
	}
}

func (f field) checkNumber(wrong *violations, at string, n int64) {
	switch {
	case f.max > 0 && (n < f.min || n > f.max):
		wrong.add(at, fmt.Sprintf("must be %d to %d", f.min, f.max))
	case n < f.min:
		wrong.add(at, fmt.Sprintf("must be at least %d", f.min))
	}
}

func (f field) checkString(wrong *violations, at, s string) {
	switch f.form {
	case formDuration:
		f.checkDuration(wrong, at, s)
		return
	case formTime:
		if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
			wrong.add(at, "must be a time such as 2026-11-29T08:00:00Z")
		}
		return
	case formAsset:
		if _, err := store.ParseAsset(s); err != nil {
			wrong.addCode(client.InvalidAsset, at, assetRule)
		}
		return
	case formTask:
		if _, err := store.ParseTask(s); err != nil {
			wrong.addCode(client.InvalidTask, at, taskRule)
		}
		return
	case formTicket:
		if _, err := store.ParseTicketID(s); err != nil {
			wrong.add(at, "must be ASSET/TASK: the asset "+assetRule+"; the task "+taskRule)
		}
		return
	}
	switch n := int64(len(s)); {
	case len(f.enum) > 0 && !slices.Contains(f.enum, s):
		wrong.add(at, "must be one of "+strings.Join(f.enum, ", "))
	case n < f.min || f.max > 0 && n > f.max:
		wrong.add(at, fmt.Sprintf("must be %d to %d bytes", f.min, f.max))
	case strings.ContainsFunc(s, f.forbids):
		wrong.add(at, "must not have control characters")
	}
}

// forbids tells the characters that cannot stand in a field.
func (f field) forbids(r rune) bool {
	if f.form == formText && (r == '\n' || r == '\r' || r == '\t') {
		return false
	}
	return unicode.IsControl(r)
}

func (f field) checkDuration(wrong *violations, at, s string) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		wrong.add(at, `must be a duration such as "30s" or "10m"`)
	case f.max > 0 && (int64(d) < f.min || int64(d) > f.max):
		wrong.add(at, fmt.Sprintf("must be %s to %s", time.Duration(f.min), time.Duration(f.max)))
	case int64(d) < f.min:
		wrong.add(at, fmt.Sprintf("must be at least %s", time.Duration(f.min)))
	}
}

// duration reads a duration that was checked, or was not given.
func duration(s string) time.Duration {
	if s == "" {
		return 0
	}
	d, _ := time.ParseDuration(s)
	return d
}
