// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// maxTargets is how many targets of a report are kept.
const maxTargets = 1000

// Report is all that an output says.
type Report struct {
	Findings []Finding
	Targets  [][]string // what it says that was looked at, each with all its names; none where the format or the output tells none
	Made     time.Time  // when it says that its scan ended; zero where it does not
	Ended    bool       // the output itself shows that it is whole; of one that does not, the scanner's own end must tell
	Notes    []string   // what the scanner says that its findings leave open, each a line

	further []string // CVEs of findings that have more names than are kept
}

// CVEs are all that the report names, each once.
func (r Report) CVEs() []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.CVEs()...)
	}
	all = append(all, r.further...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Foreign returns the targets of the report that are not the asset, by the first of their names. An asset is told by its host,
// whatever scheme, port and path stand beside it.
func (r Report) Foreign(asset string) []string {
	var foreign []string
	asset = strings.ToLower(strings.TrimSpace(asset))
	for _, names := range r.Targets {
		if !slices.Contains(names, asset) && !slices.Contains(names, hostOf(asset)) {
			foreign = append(foreign, names[0])
		}
	}
	return foreign
}

// hostOf returns the host in a URL, in an address with a port, or by itself: a name in small letters, an address in its
// shortest form.
func hostOf(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
		if i := strings.IndexAny(s, "/?#"); i >= 0 {
			s = s[:i]
		}
		s = s[strings.LastIndexByte(s, '@')+1:]
	}
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	s = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), ".")
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().WithZone("").String()
	}
	return s
}

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

// canceled ends with its context what is read.
type canceled struct {
	ctx context.Context
	r   io.Reader
}

func (c canceled) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
