// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"errors"
	"fmt"
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
