// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

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
