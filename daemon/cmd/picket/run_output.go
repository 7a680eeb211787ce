// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/agent/lines"
)

// onSignals closes stopping at the first INT, TERM or HUP, of which it tells, and ends ctx at the second. A terminal that goes
// away may send more than one HUP: it is never the second. One that was ignored at the start stays so (nohup). A closed output
// is an error of the write, and ends nothing.
func onSignals(parent context.Context, tell func()) (ctx context.Context, stopping <-chan struct{}, end func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, first, ended := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // for good: the error of the run may meet a closed output, too
	go func() {
		defer close(ended)
		stopped := false
		for s := range signals {
			switch {
			case !stopped:
				stopped = true
				close(first)
				tell()
			case s != syscall.SIGHUP:
				cancel()
			}
		}
	}()
	return ctx, first, func() {
		signal.Stop(signals)
		close(signals)
		<-ended
		cancel()
	}
}

// runOutput prints what a run comes to: for people on a terminal, as JSON otherwise.
type runOutput struct {
	c        *cli.Context
	json     bool
	results  *lines.Queue // of lines to standard output
	log      *lines.Queue // of all else, to standard error; on a terminal both are one
	errs     io.Writer
	terminal bool            // standard error is one
	progress *lines.Progress // nil without a terminal that can write a line anew
	single   bool            // one asset, by its name: its line is all
	lists    runLists

	mu  sync.Mutex // guards err
	err error      // the first that kept a result from being printed
}

func newRunOutput(c *cli.Context) *runOutput {
	out := &runOutput{c: c, json: c.Bool("json") || !isTerminal(c.App.Writer), single: !c.IsSet("assets"), results: lines.NewQueue(), terminal: isTerminal(c.App.ErrWriter)}
	out.log = out.results
	if !isTerminal(c.App.Writer) || !out.terminal {
		out.log = lines.NewQueue()
	}
	out.errs = out.log.Writer(c.App.ErrWriter)
	if out.terminal && os.Getenv("TERM") != "dumb" {
		out.progress = lines.NewProgress(out.errs, func() int { return terminalWidth(c.App.ErrWriter) })
		out.errs = out.progress
	}
	return out
}

// report prints a result. It does not wait for whoever reads it. For people, what was done before and what is left is only
// counted, and told at the end.
func (o *runOutput) report(r agent.Result) {
	o.lists.add(r)
	switch {
	case o.json:
		o.hide()
		o.print(func() error { return printJSON(o.c.App.Writer, r) })
	case o.single, r.Outcome == agent.Failed, r.Outcome == agent.Done && !r.Skipped:
		o.say(runLine(r))
	}
}

// reportAll prints the results of assets of which nothing more is to be told. They are made when they are printed.
func (o *runOutput) reportAll(all iter.Seq[agent.Result]) {
	for r := range all {
		o.lists.add(r)
	}
	if !o.json {
		return
	}
	o.hide()
	o.print(func() error {
		for r := range all {
			if err := printJSON(o.c.App.Writer, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// say prints a line for people.
func (o *runOutput) say(line string) {
	if o.progress != nil {
		fmt.Fprintln(o.progress, clean(line))
		return
	}
	o.print(func() error {
		_, err := fmt.Fprintln(o.c.App.Writer, clean(line))
		return err
	})
}

func (o *runOutput) print(line func() error) {
	o.results.Do(func() {
		err := line()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	})
}

// How long the end of a run waits for output that does not move: results for ever, unless it was asked to end.
const (
	resultsPatience = 5 * time.Second        // after the first signal
	lastPatience    = 200 * time.Millisecond // after the second
	logPatience     = 2 * time.Second
)

// end waits until all is printed, or nobody reads it any more. It reports what the run ended with, and returns its code.
func (o *runOutput) end(err error, stopping, ended <-chan struct{}) error {
	o.clear()
	patience := func() time.Duration {
		switch {
		case closed(ended):
			return lastPatience
		case closed(stopping):
			return resultsPatience
		}
		return math.MaxInt64
	}
	if o.log != o.results && !o.results.Drain(patience, stopping, ended) {
		err = errUnread
	}
	o.mu.Lock()
	err = cmp.Or(o.err, err)
	o.mu.Unlock()
	if o.c.Bool("json") && err != nil {
		err = &jsonError{err}
	}
	printError(o.errs, err)
	o.log.Drain(func() time.Duration {
		if o.log == o.results {
			return patience()
		}
		return min(patience(), logPatience)
	}, stopping, ended)
	if err == nil {
		return nil
	}
	return &exitError{code: exitCode(err)}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// errUnread says that the run is over and not all of its results are printed.
var errUnread = errors.New("not all results could be printed: nobody reads them")

// hide takes the line of progress away for a line of JSON; it comes back with the next counts.
func (o *runOutput) hide() {
	if o.progress != nil && isTerminal(o.c.App.Writer) {
		o.progress.Clear()
	}
}

// runLine is a result for people.
func runLine(r agent.Result) string {
	line := fmt.Sprintf("%-7s %s", r.Outcome, r.Asset)
	switch {
	case r.Error != "":
		line += ": " + r.Error
	case r.Summary != "":
		line += ": " + r.Summary
	case r.State != "":
		line += ": " + r.State
	}
	if r.Skipped {
		line += " (" + r.Outcome + " before)"
	}
	return line
}

func (o *runOutput) counts(c agent.Counts) {
	if o.progress != nil {
		o.progress.Show(func(most int) string { return c.Line(time.Now(), most) })
	}
}

func (o *runOutput) clear() {
	if o.progress != nil {
		o.progress.Clear()
	}
}

// summary ends a run: with the lists for people, and a sentence.
func (o *runOutput) summary(c agent.Counts) {
	o.clear()
	if !o.json && !o.single {
		for _, line := range o.lists.lines() {
			o.say(runewidth.Truncate(line, mostColumns, "…"))
		}
	}
	fmt.Fprintf(o.errs, "picket: %s\n", c.Sentence(time.Now()))
	if c.NothingDone() {
		fmt.Fprintf(o.errs, "%spicket: nothing was scanned: under this task all was done before; a new scan wants another task\n", priority(journal.PriWarning))
	}
}
