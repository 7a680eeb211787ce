// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"fmt"
	"strings"
)

// sarifRun is what is kept of a run until it ends, for its rules may come behind its results.
type sarifRun struct {
	components []component // the driver, then each extension
	rules      int         // of all of them
	artifacts  []string
	results    []result
	failure    string // what the tool says that went wrong, although it ended well
}

// parseSARIF reads a log of version 2.1.0.
func parseSARIF(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	var version text
	found, runs := false, 0
	err = d.object(fields{
		"version": d.value(&version),
		"runs": func() error {
			found = true
			return d.must(func() error {
				return d.array(func() error { runs++; return parseRun(d, into) })
			})
		},
	})
	switch {
	case err != nil:
		return err
	case version != "2.1.0" && !strings.HasPrefix(string(version), "2.1.0-"):
		return fmt.Errorf("its version is %q, known is 2.1.0", clean(string(version), maxID))
	case !found:
		return errors.New(`it has no "runs"`)
	case runs == 0:
		return errors.New(`its "runs" are empty: nothing was scanned`)
	}
	return d.end()
}

func parseRun(d *document, into *collector) error {
	run := sarifRun{components: make([]component, 1)}
	hasResults := false
	err := d.object(fields{
		"tool": func() error {
			return d.object(fields{
				"driver": func() error { return run.component(d, 0) },
				"extensions": func() error {
					return d.array(func() error {
						run.components = append(run.components, component{})
						return run.component(d, len(run.components)-1)
					})
				},
			})
		},
		"artifacts": list(d, func(a *struct {
			Location sarifArtifact `json:"location"`
		},
		) error {
			run.artifacts = append(run.artifacts, clean(string(a.Location.URI), maxPlace))
			return over(len(run.artifacts), "artifacts")
		}),
		"invocations": list(d, run.invocation),
		"results": func() error {
			hasResults = true
			return d.must(list(d, run.keep))
		},
	})
	if err != nil {
		return err
	}
	if !hasResults { // the standard wants an empty list where a scan found nothing
		return errors.New(`it has no "results": nothing was scanned, or they are in another file`)
	}
	if run.failure != "" && len(run.results) == 0 {
		return fmt.Errorf("it found nothing, and says that something went wrong: %s", run.failure)
	}
	for _, r := range run.results {
		if err := into.add(run.finding(r)); err != nil {
			return err
		}
	}
	return nil
}

// sarifNotification is what a tool says of its own run.
type sarifNotification struct {
	Level   text      `json:"level"`
	Message sarifText `json:"message"`
	About   struct {
		ID text `json:"id"`
	} `json:"descriptor"`
}

// sarifInvocation is one run of the tool's program.
type sarifInvocation struct {
	Successful    *bool               `json:"executionSuccessful"`
	Execution     []sarifNotification `json:"toolExecutionNotifications"`
	Configuration []sarifNotification `json:"toolConfigurationNotifications"`
}

// invocation refuses a run that failed, and keeps what it says of errors: after those "the results cannot be assumed to be
// complete" (SARIF 2.1.0, appendix I).
func (run *sarifRun) invocation(i *sarifInvocation) error {
	if i.Successful != nil && !*i.Successful {
		return errors.New("it says executionSuccessful = false: the scan is not complete")
	}
	for _, n := range append(i.Execution, i.Configuration...) {
		if n.Level == "error" && run.failure == "" {
			run.failure = clean(first(string(n.Message.Text), string(n.About.ID), "it does not say what"), maxTitle)
		}
	}
	return nil
}
