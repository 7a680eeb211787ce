// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

const (
	restSets = 2         // how many times over its tries (1 + retries) a step may fail, on whatever hosts, until it rests
	restFor  = time.Hour // from its last failure on, until it is tried once more
)

// rests returns the failure of a ticket that has failed so often, here and on other hosts, that it is left alone for a while;
// else nil.
func (j *job) rests() error {
	f := j.ticket.Failure
	if f == nil || j.a.options.Again || f.Count < int64(restSets*(j.retries(f.Step)+1)) {
		return nil
	}
	// The time is of the host on which it failed. Of one whose clock is wrong by more than the rest, it means nothing.
	if time.Since(f.At).Abs() >= restFor {
		return nil
	}
	return &stepError{f.Step, fmt.Errorf("failed %d times, last at %s, and is tried again from %s on, or at once with --again: %s",
		f.Count, f.At.Local().Format(time.TimeOnly), f.At.Add(restFor).Local().Format(time.TimeOnly), f.Error)}
}

// tried says whether a step has failed as often as one host tries it, on whatever hosts: whoever comes next tries it once.
func (j *job) tried(step string) bool {
	f := j.ticket.Failure
	return f != nil && f.Step == step && f.Count > int64(j.retries(step))
}

func (j *job) retries(step string) int {
	c := j.a.config.Step
	switch step {
	case client.StepOnline:
		return c.Online.Retries
	case client.StepVuln:
		return c.Vuln.Retries
	case client.StepIntel:
		return c.Intel.Retries
	case client.StepAssess:
		return c.Assess.Retries
	}
	return 0 // notify, which has none: its failure is of the configuration
}
