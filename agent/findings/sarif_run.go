// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// maxComponents bounds the extensions of one tool.
const maxComponents = 10_000

// component reads the driver, which is component 0, or an extension.
func (run *sarifRun) component(d *document, n int) error {
	if n > maxComponents {
		return fmt.Errorf("the number of extensions %w of %d", errLimit, maxComponents)
	}
	c := &run.components[n]
	var guid, name text
	var messages map[string]sarifText
	c.byID = map[string]int{}
	err := d.object(fields{
		"guid":                 d.value(&guid),
		"name":                 d.value(&name),
		"globalMessageStrings": d.value(&messages),
		"rules": list(d, func(r *sarifRule) error {
			if _, ok := c.byID[string(r.ID)]; !ok {
				c.byID[string(r.ID)] = len(c.rules)
			}
			kept := r.rule()
			kept.component = n
			c.rules = append(c.rules, kept)
			run.rules++
			if err := run.into.take(append(kept.aliases, kept.id, kept.title, kept.url)...); err != nil {
				return err
			}
			return cmp.Or(run.keepMessages(kept.messages), over(run.rules, "rules"))
		}),
	})
	c.guid, c.name, c.messages = string(guid), string(name), plainMessages(messages)
	return cmp.Or(err, run.keepMessages(c.messages))
}

// index makes the components be found by what they are named by, the driver before the extensions.
func (run *sarifRun) index() {
	run.byID, run.byName, run.byGUID = map[string]*rule{}, map[string]*component{}, map[string]*component{}
	for i := range run.components {
		c := &run.components[i]
		for id, at := range c.byID {
			if _, ok := run.byID[id]; !ok {
				run.byID[id] = &c.rules[at]
			}
		}
		if _, ok := run.byName[c.name]; !ok {
			run.byName[c.name] = c
		}
		if guid := strings.ToLower(c.guid); run.byGUID[guid] == nil {
			run.byGUID[guid] = c
		}
	}
}

// find returns the component that is meant, or nil.
func (run *sarifRun) find(ref componentRef) *component {
	switch i := sarifIndex(ref.Index); {
	case i >= 0:
		if i+1 < len(run.components) {
			return &run.components[i+1]
		}
		return nil
	case ref.GUID != "":
		return run.byGUID[strings.ToLower(string(ref.GUID))]
	case ref.Name != "":
		return run.byName[string(ref.Name)]
	}
	return &run.components[0]
}

// rule finds a rule: by its index where the rule there has the id that is asked for, or none is; else by its id, in the component
// that is named and then in the others. The last parts of the id may be more than the rule's ("CA1000/1"). It returns nil where
// there is none.
func (run *sarifRun) rule(ref ruleRef) *rule {
	named := run.find(ref.component)
	if named != nil && ref.index >= 0 && ref.index < len(named.rules) {
		at := &named.rules[ref.index]
		if ref.id == "" || ref.id == plain.Line(at.id, maxID) || strings.HasPrefix(ref.id, at.id+"/") {
			return at
		}
	}
	for id := ref.id; id != ""; id = id[:max(0, strings.LastIndexByte(id, '/'))] {
		if named != nil {
			if i, ok := named.byID[id]; ok {
				return &named.rules[i]
			}
		}
		if at := run.byID[id]; at != nil {
			return at
		}
	}
	return nil
}

func (run *sarifRun) keepMessages(all map[string]string) error {
	for id, t := range all {
		if err := run.into.take(id, t); err != nil {
			return err
		}
	}
	return nil
}

// sarifRun is what is kept of a run until it ends, for its rules may come behind its results.
type sarifRun struct {
	into         *collector
	components   []component // the driver, then each extension
	rules        int         // of all of them
	artifacts    []string
	results      []result
	invocations  int
	overrides    []override
	left         int    // results that are for a person to decide on
	unsuccessful bool   // an invocation calls itself so
	failure      string // what the tool says that went wrong, although it ended well

	byID           map[string]*rule // these are there when it has ended
	byName, byGUID map[string]*component
	levels         map[overridden]string
}

// component is what has rules: the tool's driver, or an extension of it.
type component struct {
	guid, name string
	rules      []rule
	byID       map[string]int
	messages   map[string]string // for all its rules
}

// componentRef names a component: by its index among the extensions, its guid or its name; by nothing, it is the driver.
type componentRef struct {
	Index *int `json:"index"`
	GUID  text `json:"guid"`
	Name  text `json:"name"`
}

// sarifReference is a reportingDescriptorReference.
type sarifReference struct {
	ID        text         `json:"id"`
	Index     *int         `json:"index"`
	Component componentRef `json:"toolComponent"`
}

// ruleRef names a rule: by its id, and by its index in a component, which is -1 where none is given.
type ruleRef struct {
	id        string
	index     int
	component componentRef
}

// result is what is kept of a sarifResult at one of its locations. Indexes are -1 where there is none.
type result struct {
	ruleRef
	message             message
	pkg, fixed          string
	level, word, unread string
	apart               string // of the whole message
	names               []string
	invocation          int
	uri, within         string
	artifact            int
	score               float64
}

// override is a rule's level in one invocation.
type override struct {
	rule       ruleRef
	level      string
	invocation int
}

// overridden is what a level of an invocation is of: a rule, or an id of which there is no rule. invocation is -1 for the worst
// of all.
type overridden struct {
	rule       *rule
	id         string
	invocation int
}

// sarifIndex is -1 where there is none.
func sarifIndex(i *int) int {
	if i == nil || *i < 0 {
		return -1
	}
	return *i
}
