// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
)

// tryConditions tries the conditions of a plan on made-up hosts.
func (p *plan) tryConditions() (problems []strict.Problem) {
	hosts := verdict.MadeUpHosts()
	for _, c := range []struct {
		key       string
		condition *verdict.Condition
	}{{"step.intel.when", p.when}, {"step.assess.high_risk", p.highRisk}} {
		if c.condition == nil {
			continue
		}
		if wrong := c.condition.Try(hosts); wrong != "" {
			problems = append(problems, strict.Problem{Key: c.key, Message: wrong})
		}
	}
	return problems
}
