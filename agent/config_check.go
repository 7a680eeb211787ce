// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/reach"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// plan is a configuration with everything compiled that stands in it as text.
type plan struct {
	online, vuln, intel, assess *command // nil: built in
	file                        *filePath
	when, highRisk              *verdict.Condition
	title, text                 *template.Template
}

// checker collects problems; lines tells which keys stand in the file, and is nil when there is none.
type checker struct {
	strict.Problems
	lines map[string]int
}

// alone demands that none of the keys stands beside another one of its table.
func (k *checker) alone(table, beside string, keys ...string) {
	for _, key := range keys {
		_, stands := k.lines[table+"."+key]
		k.Demand(!stands, table+"."+key, "says nothing beside %s: take one of the two away", beside)
	}
}

// compile makes a plan, and says what is wrong with the values, all at once.
func (c Config) compile(lines map[string]int) (*plan, []strict.Problem) {
	k := &checker{lines: lines}
	p := &plan{}
	k.Demand(c.Flow == client.FlowAssetInference, "flow", "is not known: the only flow is %q", client.FlowAssetInference)
	c.compileOnline(k, p)
	c.compileVuln(k, p)
	c.compileIntel(k, p)
	p.assess = k.step("step.assess", c.Step.Assess.StepConfig)
	if p.assess != nil {
		k.alone("step.assess", "command", "high_risk", "accepted", "vex")
	} else {
		p.highRisk = k.condition("step.assess.high_risk", c.Step.Assess.HighRisk, true)
	}
	for key, files := range map[string][]string{"step.assess.accepted": c.Step.Assess.Accepted, "step.assess.vex": c.Step.Assess.VEX} {
		k.Demand(!slices.Contains(files, ""), key, "has an empty path: write files, such as [\"/etc/picket/accepted.toml\"]")
		k.Demand(len(files) <= 100, key, "has %d files: write 100 at most", len(files))
	}
	n := c.Notification
	p.title = k.notice("notification.title", n.Title)
	p.text = k.notice("notification.text", n.Text)
	k.Demand(slices.Contains(client.Severities(), n.Severity), "notification.severity", "must be one of %s", strings.Join(client.Severities(), ", "))
	k.Demand(slices.Contains([]string{EachAll, EachCritical, EachNone}, n.Each), "notification.each", "must be %q, %q or %q", EachAll, EachCritical, EachNone)
	c.checkReport(k)
	return p, k.Problems
}

func (c Config) checkReport(k *checker) {
	r := c.Report
	if r.Name != "" {
		wrong := assets.CheckReport(r.Name)
		k.Demand(wrong == "", "report.name", "%q %s", r.Name, wrong)
	}
	k.Demand(time.Duration(r.After) <= 30*24*time.Hour, "report.after", "is %s: write 0 to 30d", r.After)
	k.Demand(r.When == WhenAlways || r.When == WhenChanges, "report.when", "must be %q or %q", WhenAlways, WhenChanges)
	seen := map[string]bool{}
	for _, name := range r.Channels {
		k.Demand(name != "" && len(name) <= 64, "report.channels", "%q is no name of a channel", name)
		k.Demand(!seen[name], "report.channels", "names %q twice", name)
		seen[name] = true
	}
	k.Demand(len(r.Channels) <= 64, "report.channels", "has %d names: write 64 at most", len(r.Channels))
}

// checkEach says what is missing when not all are told one by one. The name of the report may come from elsewhere, so this is looked at last.
func (c Config) checkEach() []strict.Problem {
	k := &checker{}
	k.Demand(c.Notification.Each == EachAll || c.Report.Name != "", "notification.each",
		"is %q, and there is no report to tell of the others: give report.name, or --report NAME", c.Notification.Each)
	return k.Problems
}

func (c Config) compileOnline(k *checker, p *plan) {
	s := c.Step.Online
	if p.online = k.step("step.online", s.StepConfig); p.online != nil {
		k.alone("step.online", "command", "tcp", "icmp", "refused")
		return
	}
	for _, port := range s.TCP {
		k.Demand(port >= 1 && port <= 65535, "step.online.tcp", "%d is no port: write 1 to 65535", port)
	}
	k.Demand(len(s.TCP) > 0 || s.ICMP, "step.online.tcp", "has no port, and icmp is not on: nothing would tell whether an asset is online")
	k.Demand(len(s.TCP) <= 64, "step.online.tcp", "has %d ports: write 64 at most", len(s.TCP))
	k.Demand(time.Duration(s.Timeout) >= reach.LeastAsked, "step.online.timeout", "is %s: a machine that is there may need %s to answer", s.Timeout, strict.Duration(reach.LeastAsked))
	k.Demand(s.Refused == reach.RefusedOffline || s.Refused == reach.RefusedOnline, "step.online.refused", "must be %q or %q", reach.RefusedOffline, reach.RefusedOnline)
}

// vulnTable is the table of the only step without a default.
const vulnTable = "step.vuln"

func (c Config) compileVuln(k *checker, p *plan) {
	s := c.Step.Vuln
	p.vuln = k.step("step.vuln", s.StepConfig)
	if p.vuln != nil {
		k.alone("step.vuln", "command", "file", "max_age")
	} else if s.File != "" {
		p.file = k.file("step.vuln.file", s.File)
	} else if _, stands := k.lines["step.vuln.command"]; !stands {
		k.Demand(false, vulnTable, `needs command, such as ["nuclei", "-u", "{{.Asset}}", "-jsonl", "-silent"], or file: it is the only step without a default`)
	}
	if formats := findings.Formats(); s.Parse != "" && !slices.Contains(formats, s.Parse) {
		k.Demand(false, "step.vuln.parse", "is not known: %s", strict.Suggest(s.Parse, formats))
	}
}

func (c Config) compileIntel(k *checker, p *plan) {
	s := c.Step.Intel
	if p.intel = k.step("step.intel", s.StepConfig); p.intel != nil {
		k.alone("step.intel", "command", "kev", "epss", "max_age")
	} else if s.KEV == "" && s.EPSS == "" {
		for _, key := range []string{"when", "max_age"} {
			_, stands := k.lines["step.intel."+key]
			k.Demand(!stands, "step.intel."+key, "says nothing without kev, epss or command: give one of them, or take it away")
		}
	}
	if s.When != "" {
		p.when = k.condition("step.intel.when", s.When, false)
	}
}

// hasIntel reports whether there is anything to ask.
func (c Config) hasIntel() bool {
	return len(c.Step.Intel.Command) > 0 || c.Step.Intel.KEV != "" || c.Step.Intel.EPSS != ""
}

// step checks what every step has; it returns the step's command, if there is one.
func (k *checker) step(key string, s StepConfig) *command {
	k.Demand(s.Retries >= 0 && s.Retries <= 100, key+".retries", "is %d: write 0 to 100", s.Retries)
	for _, code := range s.OKExit {
		k.Demand(code >= 0 && code <= 255, key+".ok_exit", "%d is no exit code: write 0 to 255", code)
	}
	if _, stands := k.lines[key+".ok_exit"]; stands {
		k.Demand(len(s.OKExit) > 0, key+".ok_exit", "is empty: no end of the command would be good")
		k.Demand(len(s.Command) > 0, key+".ok_exit", "says nothing without command: take it away")
	}
	if len(s.Command) == 0 {
		_, stands := k.lines[key+".command"]
		k.Demand(!stands, key+".command", `is empty: write a program and its arguments, such as ["nmap", "-oX", "-", "--", "{{.Asset}}"]`)
		return nil
	}
	c, err := newCommand(s.Command)
	if err != nil {
		k.Demand(false, key+".command", "%v", err)
		return nil
	}
	return c
}

func (k *checker) file(key, text string) *filePath {
	f, err := newFilePath(text)
	if err != nil {
		k.Demand(false, key, "%v", err)
		return f
	}
	one, err := f.fill(values{Asset: "a", Task: "t"})
	other, err2 := f.fill(values{Asset: "b", Task: "t"})
	k.Demand(err != nil || err2 != nil || one != other, key, "has no {{.Asset}}: every asset would have the same report")
	return f
}

func (k *checker) condition(key, text string, withIntel bool) *verdict.Condition {
	c, err := verdict.NewCondition(text, withIntel)
	if err != nil {
		k.Demand(false, key, "%v", err)
	}
	return c
}

func (k *checker) notice(key, text string) *template.Template {
	k.Demand(strings.TrimSpace(text) != "", key, "is empty: write a template, or take the key away for the default")
	t, err := newText(text)
	if err != nil {
		k.Demand(false, key, "%v", err)
	}
	return t
}
