// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

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
		return fmt.Errorf("its version is %q, known is 2.1.0", plain.Line(string(version), maxID))
	case !found:
		return errors.New(`it has no "runs"`)
	case runs == 0:
		return errors.New(`its "runs" are empty: nothing was scanned`)
	}
	return d.end()
}

func parseRun(d *document, into *collector) error {
	run := sarifRun{into: into, components: make([]component, 1)}
	before := into.bytes
	hasResults, elsewhere := false, false
	err := d.object(fields{
		"tool": func() error {
			return d.object(fields{
				"driver": func() error { return run.component(d, 0) },
				"extensions": func() error {
					return d.array(func() error {
						run.components = append(run.components, component{})
						if err := into.take(); err != nil {
							return err
						}
						return run.component(d, len(run.components)-1)
					})
				},
			})
		},
		"artifacts": list(d, func(a *struct {
			Location sarifArtifact `json:"location"`
		},
		) error {
			uri := plain.Line(string(a.Location.URI), maxPlace)
			run.artifacts = append(run.artifacts, uri)
			return cmp.Or(into.take(uri), over(len(run.artifacts), "artifacts"))
		}),
		"invocations": list(d, run.invocation),
		"externalPropertyFileReferences": func() error {
			return d.object(fields{"results": list(d, func(*struct{}) error { elsewhere = true; return nil })})
		},
		"results": func() error {
			hasResults = true
			return d.must(list(d, run.keep))
		},
	})
	if err != nil {
		return err
	}
	if !hasResults || elsewhere { // the standard wants an empty list where a scan found nothing
		return errors.New(`it has no "results": nothing was scanned, or they are in another file`)
	}
	if err := run.whole(); err != nil {
		return err
	}
	if run.left > 0 {
		into.note(fmt.Sprintf("%d results are for a person to decide on (kind open or review), and not counted", run.left))
	}
	run.index()
	run.override()
	kept := into.bytes - before
	for _, r := range run.results {
		if err := into.add(run.findingOf(r)); err != nil {
			return err
		}
	}
	into.bytes -= kept
	return nil
}

// sarifNotification is what a tool says of its own run.
type sarifNotification struct {
	Level   text         `json:"level"`
	Message sarifMessage `json:"message"`
	About   struct {
		ID text `json:"id"`
	} `json:"descriptor"`
}

// sarifInvocation is one run of the tool's program.
type sarifInvocation struct {
	Successful    *bool               `json:"executionSuccessful"`
	ExitCode      *int                `json:"exitCode"`
	Signal        *number             `json:"exitSignalNumber"`
	NotStarted    text                `json:"processStartFailureMessage"`
	Ended         text                `json:"endTimeUtc"`
	Execution     []sarifNotification `json:"toolExecutionNotifications"`
	Configuration []sarifNotification `json:"toolConfigurationNotifications"`
	Overrides     []struct {
		Rule          sarifReference `json:"descriptor"`
		Configuration struct {
			Level text `json:"level"`
		} `json:"configuration"`
	} `json:"ruleConfigurationOverrides"`
}

// invocation refuses a run that failed, and keeps what it says of errors: after those "the results cannot be assumed to be
// complete" (SARIF 2.1.0, appendix I).
func (run *sarifRun) invocation(i *sarifInvocation) error {
	for _, n := range append(i.Execution, i.Configuration...) {
		if n.Level == "error" && run.failure == "" {
			run.failure = plain.Line(cmp.Or(string(n.Message.Text), string(n.Message.ID), string(n.About.ID), "it does not say what"), maxTitle)
		}
	}
	if i.Successful != nil && !*i.Successful {
		run.unsuccessful = true
		if !i.found(run.into.okExit) {
			return errors.New("it says executionSuccessful = false: the scan is not complete; " +
				"of a tool that says so whenever it found something, name its exit code in ok_exit")
		}
	}
	for _, o := range i.Overrides {
		if o.Configuration.Level != "" {
			ref := ruleRef{plain.Line(string(o.Rule.ID), maxID), sarifIndex(o.Rule.Index), o.Rule.Component}
			run.overrides = append(run.overrides, override{ref, string(o.Configuration.Level), run.invocations})
			if err := run.into.take(ref.id); err != nil {
				return err
			}
		}
	}
	run.invocations++
	run.into.madeAt(i.Ended)
	return nil
}

// found says whether an invocation that calls itself unsuccessful may have meant that it found something: where its exit code
// is one of those that were said to be good, and where it is 0 or 1 and nothing tells of an error. An exit code that the log
// lacks is the process's, which was looked at already: it must have been said that others than 0 are good.
func (i *sarifInvocation) found(okExit []int) bool {
	if i.ExitCode == nil {
		return slices.ContainsFunc(okExit, func(code int) bool { return code != 0 })
	}
	failed := func(n sarifNotification) bool { return n.Level == "error" }
	return slices.Contains(okExit, *i.ExitCode) || (*i.ExitCode == 0 || *i.ExitCode == 1) && i.Signal == nil && i.NotStarted == "" &&
		!slices.ContainsFunc(i.Execution, failed) && !slices.ContainsFunc(i.Configuration, failed)
}

// whole refuses a run that found nothing, and says that it went wrong. Of one that found something, that is noted.
func (run *sarifRun) whole() error {
	switch {
	case len(run.results) > 0:
		if run.failure != "" {
			run.into.untried("it says that something went wrong: " + run.failure)
		}
		return nil
	case run.unsuccessful:
		return errors.New("it found nothing, and says executionSuccessful = false: the scan is not complete")
	case run.failure != "":
		return fmt.Errorf("it found nothing, and says that something went wrong: %s", run.failure)
	}
	return nil
}

func (run *sarifRun) override() {
	run.levels = map[overridden]string{}
	for _, o := range run.overrides {
		key := overridden{rule: run.rule(o.rule)}
		if key.rule == nil {
			key.id = o.rule.id
		}
		for _, key.invocation = range []int{o.invocation, -1} {
			if old := run.levels[key]; old == "" || rank(severity(o.level)) > rank(severity(old)) {
				run.levels[key] = o.level
			}
		}
	}
}
