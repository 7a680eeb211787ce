// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os/exec"
	"slices"
	"time"

	"github.com/picketd/picket/agent/accept"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// Options is what New needs beside the configuration.
type Options struct {
	Client *client.Client
	Socket string // for the commands, absolute
	Task   string

	Parallel  int           // assets at a time. Defaults to 4
	GiveUp    time.Duration // how long to wait for what others hold, when nothing else is left. Defaults to not at all
	Heartbeat time.Duration // the silence after which a claim is lost, at least 1s. Defaults to 30s
	Again     bool          // try at once what has failed often, too. Defaults to leaving it alone for an hour
	MaxHold   time.Duration // the longest life of a claim. Defaults to what the steps' time-outs and retries can take, or the daemon's

	Follow bool // ask again and again how far a list is over all hosts, for Counts. Defaults to once

	Log    *slog.Logger // Defaults to slog's
	Report func(Result) // is told what became of each asset, one at a time. Defaults to nobody

	// ReportAll is told what became of many assets at once, of which there is no more to tell. It may go over them later. Defaults to Report
	// for each.
	ReportAll func(iter.Seq[Result])

	Counts func(Counts) // is told whenever they have changed, one at a time. Defaults to nobody
}

// Agent takes assets through the flow.
type Agent struct {
	config  Config
	options Options
	plan    *plan
	files   *files
	used    accept.Use // what the accepted risks have met in this run
	client  *client.Client
	outage  outage
	report  *reporter // of the list that is run; nil: there is none
}

// New makes an agent ready: it looks for the programs and reads the files that the configuration names. Its error is an
// ErrConfig, or of the daemon, which must answer.
func New(ctx context.Context, c Config, o Options) (*Agent, error) {
	o.Parallel, o.Heartbeat = cmp.Or(o.Parallel, 4), cmp.Or(o.Heartbeat, 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Report == nil {
		o.Report = func(Result) {}
	}
	if o.ReportAll == nil {
		o.ReportAll = func(all iter.Seq[Result]) { all(func(r Result) bool { o.Report(r); return true }) }
	}
	if o.Counts == nil {
		o.Counts = func(Counts) {}
	}
	p, f, err := c.prepare(o.Log)
	if err != nil {
		return nil, err
	}
	var status client.Status
	err = lease.Call(ctx, func(ctx context.Context) (err error) {
		status, err = o.Client.Status(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, problem := range p.tryConditions() {
		o.Log.Warn("a condition "+problem.Message, "key", problem.Key)
	}
	if len(status.Channels) == 0 {
		o.Log.Warn("the daemon has no channel: nobody can be told of a high risk; its picket.toml needs one")
	}
	for _, name := range c.Report.Channels {
		if !slices.ContainsFunc(status.Channels, func(one client.ChannelInfo) bool { return one.Name == name }) {
			o.Log.Warn("the daemon has no channel of this name: the report would fail", "key", "report.channels", "channel", name)
		}
	}
	return &Agent{
		config: c, options: o, plan: p, files: f, client: o.Client, outage: outage{changed: make(chan struct{}, 1)},
	}, nil
}

// Check says what is wrong with what the values name, beside the values themselves, of which LoadConfig tells: with programs, with
// files, and with what conditions come to on made-up hosts. Its error is an ErrConfig with a line for each.
func (c Config) Check(log *slog.Logger) error {
	p, _ := c.compile(nil)
	_, err := c.open(log)
	all := strict.Error{}
	for _, err := range []error{err, strict.Located("", nil, append(p.tryConditions(), c.checkEach()...))} {
		if wrong, ok := errors.AsType[strict.Error](err); ok {
			all = append(all, wrong...)
		} else if err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// prepare compiles the configuration, looks for its programs, and reads the files that it names.
func (c Config) prepare(log *slog.Logger) (*plan, *files, error) {
	p, problems := c.compile(nil)
	if problems = append(problems, c.checkEach()...); len(problems) > 0 {
		return nil, nil, strict.Located("", nil, problems)
	}
	f, err := c.open(log)
	return p, f, err
}

// open looks for the programs, and reads the files.
func (c Config) open(log *slog.Logger) (*files, error) {
	var wrong strict.Error
	for _, step := range []struct {
		key     string
		command []string
	}{
		{"step.online", c.Step.Online.Command},
		{"step.vuln", c.Step.Vuln.Command},
		{"step.intel", c.Step.Intel.Command},
		{"step.assess", c.Step.Assess.Command},
	} {
		if len(step.command) == 0 {
			continue
		}
		if _, err := exec.LookPath(step.command[0]); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s.command: cannot run %s: %v", step.key, step.command[0], errors.Unwrap(err)))
		}
	}
	f, err := openFiles(c, log)
	if bad, ok := errors.AsType[strict.Error](err); ok {
		wrong, err = append(wrong, bad...), nil
	}
	if len(wrong) > 0 {
		err = wrong
	}
	return f, err
}

// LoadConfig reads a file: that path, else $PICKET_AGENT_CONFIG, else /etc/picket/agent.toml. Its error is an ErrConfig with a
// line for each thing that is wrong.
func LoadConfig(path string) (Config, error) {
	c, _, err := loadConfig(path)
	return c, err
}

// CheckConfig says all that is wrong with a file, as LoadConfig does, and with what it names, as Check does. report stands in for the name of
// the report in the file, unless it is empty.
func CheckConfig(path, report string, log *slog.Logger) error {
	c, read, err := loadConfig(path)
	if !read {
		return err
	}
	c.Report.Name = cmp.Or(report, c.Report.Name)
	return errors.Join(err, c.Check(log))
}

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
