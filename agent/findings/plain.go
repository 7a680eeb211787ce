// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import "errors"

// parsePlain reads {"findings": […]}, the form of Finding itself.
func parsePlain(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	type plain struct {
		ID, Severity, Title, Package, Location text
		CVSS, EPSS                             number
		KEV                                    bool
		Aliases                                texts
	}
	found := false
	err = d.object(fields{"findings": func() error {
		found = true
		return d.must(list(d, func(p *plain) error {
			if p.ID == "" {
				return errors.New("it has no id")
			}
			f := Finding{
				Severity: string(p.Severity), CVSS: p.CVSS.within(10), Title: string(p.Title),
				Package: string(p.Package), Location: string(p.Location), EPSS: p.EPSS.within(1), KEV: p.KEV,
			}
			f.ID, f.Aliases = identify(append([]string{string(p.ID)}, p.Aliases...)...)
			return into.add(f)
		}))
	}})
	if err != nil {
		return err
	}
	if !found {
		return errors.New(`it has no list named "findings"`)
	}
	return d.end()
}
