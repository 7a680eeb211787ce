// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/picketd/picket/agent/reach"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/sockapi/client"
)

const defaultConfigFile = "/etc/picket/agent.toml"

// ErrConfig is any error in the configuration: of the file, of its values, of the programs and catalogues that it names.
var ErrConfig = strict.ErrConfig

// Config is the agent's configuration file. Only step.vuln has no default.
type Config struct {
	Flow         string             `toml:"flow"` // Defaults to asset-inference, the only one
	Step         StepsConfig        `toml:"step"`
	Notification NotificationConfig `toml:"notification"`
	Report       ReportConfig       `toml:"report"`
}

// StepsConfig is [step].
type StepsConfig struct {
	Online OnlineConfig `toml:"online"`
	Vuln   VulnConfig   `toml:"vuln"`
	Intel  IntelConfig  `toml:"intel"`
	Assess AssessConfig `toml:"assess"`
}

// StepConfig is what every step has.
type StepConfig struct {
	Command []string        `toml:"command"` // what does the step instead of what is built in: a program and its arguments, templates
	OKExit  []int           `toml:"ok_exit"` // with which the command may end. Defaults to what its parser knows, else to 0
	Timeout strict.Duration `toml:"timeout"` // of one attempt. Defaults to 30m for vuln, 5s for online, 1m for the others
	Retries int             `toml:"retries"` // after a failed attempt: 0 to 100. Defaults to 2
	Backoff strict.Duration `toml:"backoff"` // before the first of them; doubles, with jitter, up to 5m. Defaults to 1s
}

// OnlineConfig is [step.online].
type OnlineConfig struct {
	StepConfig
	TCP     []int  `toml:"tcp"`     // ports: one that is open makes the asset online. Defaults to 22, 80, 443, 445, 3389
	ICMP    bool   `toml:"icmp"`    // an echo request beside the ports, where this user may send one. Defaults to false
	Refused string `toml:"refused"` // what a refused connection means, if none is open: offline or online. Defaults to offline
}

// VulnConfig is [step.vuln]: a command or a file.
type VulnConfig struct {
	StepConfig
	File   string          `toml:"file"`    // a template with {{.Asset}}: a report that something else has written
	MaxAge strict.Duration `toml:"max_age"` // of the file. Defaults to that of this run of the ticket: the report must be newer
	Parse  string          `toml:"parse"`   // one of findings.Formats. Defaults to Picket's own form
}

// IntelConfig is [step.intel]: catalogues in files, or a command. Defaults to none: the step is left out.
type IntelConfig struct {
	StepConfig
	KEV    string          `toml:"kev"`     // CISA's catalogue of known exploited vulnerabilities, JSON
	EPSS   string          `toml:"epss"`    // FIRST's scores, CSV, also .gz
	When   string          `toml:"when"`    // a condition; when it does not hold, the step is left out. Defaults to always
	MaxAge strict.Duration `toml:"max_age"` // an older catalogue is refused. Defaults to none: one older than 7 days is a warning
}

// AssessConfig is [step.assess].
type AssessConfig struct {
	StepConfig
	HighRisk string   `toml:"high_risk"` // a condition. Defaults to max_cvss >= 9 || kev || epss >= 0.5
	Accepted []string `toml:"accepted"`  // files of accepted risks
	VEX      []string `toml:"vex"`       // OpenVEX documents
}

// NotificationConfig is [notification].
type NotificationConfig struct {
	Title    string          `toml:"title"`    // a template, cut at 256 bytes
	Text     string          `toml:"text"`     // a template; the least severe findings are left out until it has 32 KiB
	Severity string          `toml:"severity"` // info, low, medium, high or critical. Defaults to critical
	Repeat   strict.Duration `toml:"repeat"`   // how long the same findings are not told again. Defaults to none: each time
	Each     string          `toml:"each"`     // which assets of a list with a report are told one by one: all, critical or none. Defaults to all
}

// ReportConfig is [report]: one message about a whole list.
type ReportConfig struct {
	Name     string        `toml:"name"`     // 1 to 64 of A-Z a-z 0-9 . _ -. Defaults to none: there is no report
	After    strict.OrNone `toml:"after"`    // it is told so long after the first run began at latest, whatever is not settled then. Defaults to 0: when all is settled
	Channels []string      `toml:"channels"` // names of the daemon's channels. Defaults to those that match its severity and flow
	When     string        `toml:"when"`     // always, or changes: only when something is new, fixed, failed or not reachable. Defaults to always
}

// The values of NotificationConfig.Each and ReportConfig.When.
const (
	EachAll      = "all"
	EachCritical = "critical" // those with a critical finding, or a score of 9 and more
	EachNone     = "none"

	WhenAlways  = "always"
	WhenChanges = "changes"
)

// DefaultConfig is what holds where the file says nothing.
func DefaultConfig() Config {
	step := func(timeout time.Duration) StepConfig {
		return StepConfig{Timeout: strict.Duration(timeout), Retries: 2, Backoff: strict.Duration(time.Second)}
	}
	return Config{
		Flow: client.FlowAssetInference,
		Step: StepsConfig{
			Online: OnlineConfig{StepConfig: step(5 * time.Second), TCP: []int{22, 80, 443, 445, 3389}, Refused: reach.RefusedOffline},
			Vuln:   VulnConfig{StepConfig: step(30 * time.Minute)},
			Intel:  IntelConfig{StepConfig: step(time.Minute)},
			Assess: AssessConfig{StepConfig: step(time.Minute), HighRisk: "max_cvss >= 9 || kev || epss >= 0.5"},
		},
		Notification: NotificationConfig{
			Title:    "High risk on {{.Asset}}: {{.Brief}}",
			Text:     defaultText,
			Severity: "critical",
			Each:     EachAll,
		},
		Report: ReportConfig{When: WhenAlways},
	}
}

const defaultText = `{{.Asset}} is at high risk, found in task {{.Task}}.
{{.Count}} finding{{if ne .Count 1}}s{{end}}: {{.Critical}} critical, {{.High}} high, {{.Medium}} medium, {{.Low}} low{{if .Unknown}}, {{.Unknown}} of unknown severity{{end}}{{if .TopCVSS}}; CVSS up to {{.TopCVSS}}{{end}}.{{if .Accepted}}
{{.Accepted}} more {{if eq .Accepted 1}}is{{else}}are{{end}} accepted, and left out.{{end}}
Why: {{.Because}}{{range .Ended}}
Note: {{.}}.{{end}}
{{range .Findings}}
- {{.ID}} ({{.Severity}}{{if .CVSS}}, CVSS {{.CVSS}}{{end}}{{if .EPSS}}, EPSS {{.EPSS}}{{end}}{{if .KEV}}, known to be exploited{{end}}) {{.Title}}{{if .Package}} in {{.Package}}{{end}}{{if .Location}} at {{.Location}}{{end}}{{if .FixedIn}}, fixed in {{.FixedIn}}{{end}}{{if .URL}}
  {{.URL}}{{end}}{{end}}`

// longest is how long the work on one asset may take at most: every attempt of every step to its time-out. It is an hour at
// least.
func (c Config) longest() time.Duration {
	total := time.Minute
	for _, s := range []StepConfig{c.Step.Online.StepConfig, c.Step.Vuln.StepConfig, c.Step.Intel.StepConfig, c.Step.Assess.StepConfig} {
		for attempt := range s.Retries + 1 {
			total += time.Duration(s.Timeout) + endGrace + min(time.Duration(s.Backoff)<<min(attempt, 20), backoffMax)
			if total > longestHold || total < 0 {
				return longestHold
			}
		}
	}
	return max(total, time.Hour)
}

// loadConfig also says whether the values could be read, but for those that are wrong.
func loadConfig(path string) (c Config, read bool, err error) {
	path = cmp.Or(path, os.Getenv("PICKET_AGENT_CONFIG"), defaultConfigFile)
	doc, err := os.ReadFile(path)
	if err != nil {
		return Config{}, false, strict.Error{fmt.Sprintf("cannot read the configuration: %v", err)}
	}
	c, lines, problems, read := parseConfig(doc)
	return c, read, strict.Located(path, lines, problems)
}

// parseConfig reads a document and asks whether its values make sense, as far as they can be read.
func parseConfig(doc []byte) (c Config, lines map[string]int, problems []strict.Problem, read bool) {
	c = DefaultConfig()
	lines, problems, read = strict.Decode(doc, &c)
	if read {
		_, more := c.compile(lines)
		if len(problems) > 0 { // what seems to be missing may be what could not be read
			more = slices.DeleteFunc(more, func(p strict.Problem) bool { return p.Key == vulnTable })
		}
		problems = strict.Beside(problems, more)
	}
	return c, lines, problems, read
}

// backoffMax is the longest pause before a step is tried again.
const backoffMax = 5 * time.Minute

// longestHold is the daemon's ceiling for the life of a claim, unless it is configured otherwise.
const longestHold = 24 * time.Hour
