// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/picketd/picket/sockapi/client"
)

const columns = 80

func heading(text string) { fmt.Printf("\n%s\n%s\n", text, strings.Repeat("-", len(text))) }

// say prints a sentence.
func say(format string, args ...any) { wrap("", fmt.Sprintf(format, args...)) }

// quote prints what came from elsewhere, indented.
func quote(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		wrap("    ", line)
	}
}

// wrap prints words in lines of at most 80 columns.
func wrap(indent, text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(indent)+len(line)+1+len(word) > columns {
			fmt.Println(indent + line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	fmt.Println(indent + line)
}

// columnsOf prints rows of cells, each of which ends with a tab.
func columnsOf(rows []string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	_ = w.Flush() // into memory
	for line := range strings.Lines(b.String()) {
		fmt.Println("  " + strings.TrimRight(line, " \n"))
	}
}

// ticket shows a ticket as a host's daemon tells it.
func (s *stage) ticket(ctx context.Context, host, asset, task string) {
	cl := client.New(s.socket(host))
	defer cl.CloseIdleConnections()
	t, err := cl.Ticket(ctx, asset, task)
	check("show the ticket", err)
	quote(fmt.Sprintf("%s is %s: %s", t.ID, t.State, t.Summary))
	rows := []string{"STEP\tSTATE\tTOKEN\tHOST"}
	byTime := func(a, b string) int { return t.Steps[a].At.Compare(t.Steps[b].At) }
	for _, name := range slices.SortedFunc(maps.Keys(t.Steps), byTime) {
		step := t.Steps[name]
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%s", name, step.State, step.Token, step.Host))
	}
	columnsOf(rows)
}

// history shows a ticket's accepted writes, then the refused ones.
func (s *stage) history(ctx context.Context, host, asset, task string) {
	cl := client.New(s.socket(host))
	defer cl.CloseIdleConnections()
	h, err := cl.History(ctx, asset, task)
	check("show the history", err)
	rows := []string{"SEQ\tEVENT\tTO\tSTEP\tTOKEN\tHOST\tREASON"}
	row := func(seq string, e client.Event) {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s\t%s", seq, e.Event, e.To, e.Step, e.Token, e.Host, e.Reason))
	}
	for _, e := range h.Events {
		row(fmt.Sprint(e.Seq), e)
	}
	for _, e := range h.Refused {
		row("-", client.Event{
			Event: "REFUSED", To: e.To, Step: e.Step, Token: e.Token, Host: e.Host, Reason: cmp.Or(e.Reason, e.Event),
		})
	}
	columnsOf(rows)
}

// show serves pages over what the story left, and waits until it is interrupted.
func (s *stage) show(ctx context.Context) {
	heading("3. Now it is your turn")
	pages := s.start("picket ui", exec.Command(s.picket, "ui", "--socket", s.socket("scan-02")))
	pages.says(ctx, "\n")
	say("All of this is still there. Open its pages in a browser; db-01 has the frozen writer's minute:")
	fmt.Println("    " + strings.TrimSpace(pages.said.String()))
	say("Or look from another terminal:")
	fmt.Printf("    export PICKET_SOCKET=%s\n    %s ticket history db-01 w48\n", s.socket("scan-02"), s.picket)
	say("Ctrl-C ends it, and removes all.")
	<-ctx.Done()
}
