// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// maxTargets is how many targets of a report are kept.
const maxTargets = 1000

// hosts makes a target of the hosts that its names tell.
func (c *collector) hosts(names ...string) {
	for i, name := range names {
		names[i] = hostOf(name)
	}
	c.target(names...)
}

// target notes what was looked at. A report that names more targets than are kept is foreign by those already.
func (c *collector) target(names ...string) {
	var all []string
	for _, name := range names {
		if name = strings.ToLower(plain.Line(name, maxPlace)); name != "" && !slices.Contains(all, name) && len(all) < maxAliases {
			all = append(all, name)
		}
	}
	key := strings.Join(all, "\x00")
	if len(all) == 0 || c.targets[key] || len(c.report.Targets) == maxTargets {
		return
	}
	if c.targets == nil {
		c.targets = map[string]bool{}
	}
	c.targets[key] = true
	c.report.Targets = append(c.report.Targets, all)
}

// made notes a time at which a part of the scan ended; the last one counts.
func (c *collector) made(t time.Time) {
	if t.After(c.report.Made) {
		c.report.Made = t
	}
}

// madeAt reads a time as JSON has it; what is none says nothing.
func (c *collector) madeAt(s text) {
	if t, err := time.Parse(time.RFC3339, string(s)); err == nil {
		c.made(t)
	}
}

// note keeps a line, the first few of them.
func (c *collector) note(line string) {
	if line = plain.Line(line, maxTitle); line != "" && len(c.report.Notes) < 10 && !slices.Contains(c.report.Notes, line) {
		c.report.Notes = append(c.report.Notes, line)
	}
}
