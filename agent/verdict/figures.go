// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// Figures sum up all findings, those too for which the facts have no room.
type Figures struct {
	Count    int     `json:"count"`
	MaxCVSS  float64 `json:"max_cvss"`           // a finding without a score counts with the lowest of its severity
	TopCVSS  float64 `json:"top_cvss,omitempty"` // the highest score that a scanner gave; 0 when none did
	KEV      bool    `json:"kev"`                // one is known to be exploited
	EPSS     float64 `json:"epss"`               // the highest, 0 to 1
	Critical int     `json:"critical"`
	High     int     `json:"high"`
	Medium   int     `json:"medium"`
	Low      int     `json:"low"`
	Info     int     `json:"info"`
	Unknown  int     `json:"unknown"`
	Unread   int     `json:"unread_vectors,omitempty"` // findings without a score whose CVSS vector cannot be read
}

// floors are the lowest scores of each severity in CVSS 3.1 and 4.0 (the qualitative severity rating scale of their
// specifications).
var floors = map[string]float64{"critical": 9.0, "high": 7.0, "medium": 4.0, "low": 0.1}

func figuresOf(all []findings.Finding) Figures {
	var f Figures
	for _, one := range all {
		f.take(one)
	}
	return f
}

// take counts a finding.
func (f *Figures) take(one findings.Finding) {
	f.Count++
	*f.of(one.Severity)++
	if one.Vector != "" {
		f.Unread++
	}
	f.weigh(one)
}

// weigh takes a finding's weight, without counting it.
func (f *Figures) weigh(one findings.Finding) {
	score := cmp.Or(one.CVSS, floors[one.Severity])
	f.MaxCVSS, f.TopCVSS = max(f.MaxCVSS, score), max(f.TopCVSS, one.CVSS)
	f.KEV, f.EPSS = f.KEV || one.KEV, max(f.EPSS, one.EPSS)
}

// of is the number of a severity.
func (f *Figures) of(severity string) *int {
	switch severity {
	case "critical":
		return &f.Critical
	case "high":
		return &f.High
	case "medium":
		return &f.Medium
	case "low":
		return &f.Low
	case "info":
		return &f.Info
	}
	return &f.Unknown
}

// figureForm is what a program may say of its own figures.
type figureForm struct {
	Figures
	KEVIDs  []string // in facts: kev_ids
	Omitted int      // in facts: omitted
}

// ToldError is what a program's facts say under error: whoever failed has not looked, whatever else stands there.
func ToldError(facts json.RawMessage) error {
	var said struct {
		Error any `json:"error"`
	}
	if err := json.Unmarshal(facts, &said); err == nil && said.Error != nil && said.Error != "" && said.Error != false {
		return fmt.Errorf("its facts tell of an error: %s", plain.Line(fmt.Sprint(said.Error), 1024))
	}
	return nil
}

// readFigures reads the figures that a program says itself, beside its findings. A figure that is none is an error: it would be
// passed over.
//
// So is null, which a filter makes of an answer that did not come: what was not asked is not false.
func readFigures(m members) (f figureForm, err error) {
	for _, name := range []string{"kev", "kev_ids", "epss", "max_cvss", "top_cvss"} {
		if string(bytes.TrimSpace(m[name])) == "null" {
			return f, fmt.Errorf("%q is null: a command that could not ask fails, or leaves it out", name)
		}
	}
	for name, v := range map[string]*int{
		"count": &f.Count, "critical": &f.Critical, "high": &f.High, "medium": &f.Medium, "low": &f.Low, "info": &f.Info, "unknown": &f.Unknown,
		"omitted": &f.Omitted,
	} {
		if err == nil {
			if err = m.member(name, v, "a whole number"); err == nil && *v < 0 {
				err = fmt.Errorf("%q is %d, and must not be negative", name, *v)
			}
		}
	}
	for _, r := range []struct {
		name string
		v    *float64
		most float64
	}{{"max_cvss", &f.MaxCVSS, 10}, {"top_cvss", &f.TopCVSS, 10}, {"epss", &f.EPSS, 1}} {
		want := fmt.Sprintf("a number from 0 to %g", r.most)
		if err == nil {
			if err = m.member(r.name, r.v, want); err == nil && !(*r.v >= 0 && *r.v <= r.most) {
				err = fmt.Errorf("%q is %g, and must be %s", r.name, *r.v, want)
			}
		}
	}
	err = cmp.Or(err, m.member("kev", &f.KEV, "true or false"), m.member("kev_ids", &f.KEVIDs, "a list of texts"))
	f.KEV = f.KEV || len(f.KEVIDs) > 0
	return f, err
}

// graver takes from other figures what is graver there: more of anything, higher, exploited. Findings of which only the
// severity's number is told have no score.
func (f *Figures) graver(o Figures) {
	all := 0
	for _, severity := range append(client.Severities(), "unknown") {
		if n := *o.of(severity); n > *f.of(severity) {
			*f.of(severity) = n
			if o.MaxCVSS == 0 {
				f.MaxCVSS = max(f.MaxCVSS, floors[severity])
			}
		}
		all += *f.of(severity)
	}
	f.Count, f.MaxCVSS = max(f.Count, all), max(f.MaxCVSS, o.TopCVSS)
	f.Unread = max(f.Unread, o.Unread)
	f.Count, f.MaxCVSS, f.TopCVSS = max(f.Count, o.Count), max(f.MaxCVSS, o.MaxCVSS), max(f.TopCVSS, o.TopCVSS)
	f.KEV, f.EPSS = f.KEV || o.KEV, max(f.EPSS, o.EPSS)
}

// exploited marks the findings that have one of these names.
func exploited(list []findings.Finding, ids []string) {
	for i, f := range list {
		list[i].KEV = f.KEV || slices.ContainsFunc(f.Names(), func(id string) bool {
			return slices.ContainsFunc(ids, func(known string) bool { return strings.EqualFold(known, id) })
		})
	}
}

// sentence sums the figures up for people.
func (f Figures) sentence() string {
	said := fmt.Sprintf("%d findings, %d critical, %d high", f.Count, f.Critical, f.High)
	upTo := "up to "
	switch f.Count {
	case 0:
		return "nothing found"
	case 1:
		said, upTo = "1 finding", ""
		if f.Critical > 0 {
			said = "1 critical finding"
		} else if f.High > 0 {
			said = "1 high finding"
		}
	}
	if f.Unknown > 0 {
		said += fmt.Sprintf(", %d of unknown severity", f.Unknown)
	}
	if f.Unread > 0 {
		said += fmt.Sprintf(", %d with a CVSS vector that cannot be read", f.Unread)
	}
	if f.TopCVSS > 0 {
		said += ", CVSS " + upTo + num(f.TopCVSS)
	}
	return said
}

func num(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// BriefList names the first few.
func BriefList(all []string, most int) string {
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// TimeForm is how a time is written for people, with its zone.
const TimeForm = "2006-01-02 15:04:05 MST"
