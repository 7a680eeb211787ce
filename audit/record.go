// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"cmp"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/picketd/picket/agent/plain"
)

// Record is an event with its number, as picket audit --json prints it. The tag journal names a field in the journal and in JSON
// lines. One that says nothing is left out.
type Record struct {
	Time       time.Time        `json:"time" journal:"PICKET_TIME"`
	Message    string           `json:"message" journal:"MESSAGE"` // a sentence for people
	Priority   journal.Priority `json:"priority" journal:"PRIORITY"`
	ID         string           `json:"-" journal:"MESSAGE_ID"`
	Identifier string           `json:"-" journal:"SYSLOG_IDENTIFIER"`
	Run        string           `json:"run" journal:"PICKET_RUN"` // of the daemon
	Seq        int64            `json:"seq" journal:"PICKET_SEQ"` // within the run, from 1
	Event
	Ticket   string      `json:"ticket,omitempty" journal:"PICKET_TICKET"` // ASSET/TASK
	AgentPID json.Number `json:"agent_pid,omitempty" journal:"PICKET_AGENT_PID"`
	AgentUID json.Number `json:"agent_uid,omitempty" journal:"PICKET_AGENT_UID"`
	Dropped  string      `json:"dropped,omitempty" journal:"PICKET_DROPPED"` // numbers that are missing, as 17-42 45

	lost []span // is Dropped
}

// Identifier is how the journal calls what wrote a record.
const Identifier = "picket"

func newRecord(e Event, run string, seq int64, lost []span) *Record {
	r := &Record{
		Time: time.Now(), Priority: e.priority(), ID: meanings[e.Kind].id, Identifier: Identifier, Run: run, Seq: seq, Event: e,
		Dropped: strings.Join(texts(lost), " "), lost: lost,
	}
	if e.Task != "" {
		r.Ticket = e.Asset + "/" + e.Task
	}
	if pid, uid, known := strings.Cut(e.Agent, "/"); known {
		r.AgentUID = json.Number(uid)
		if pid != "0" { // else it is in another PID namespace
			r.AgentPID = json.Number(pid)
		}
	}
	return r
}

// priority is the kind's, but for a refusal that means no more than that somebody was faster or made a slip.
func (e *Event) priority() journal.Priority {
	switch {
	case e.Kind != Refused:
		return meanings[e.Kind].priority
	case e.Code == "STALE_TOKEN", e.Code == "CLAIM_LOST", e.Code == "FORBIDDEN":
		return journal.PriWarning
	}
	return journal.PriNotice
}

// column is a field of a Record.
type column struct {
	name string
	at   []int // for reflect
}

var columns = func() (all []column) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Record]()) {
		if name := f.Tag.Get("journal"); name != "" {
			all = append(all, column{name, f.Index})
		}
	}
	return all
}()

// value is how a record is looked at by its columns.
func (r *Record) value() reflect.Value { return reflect.ValueOf(r).Elem() }

// text is what the field of a record says; empty when it says nothing.
func (c column) text(r reflect.Value) string {
	f := r.FieldByIndex(c.at)
	switch {
	case f.Kind() == reflect.String:
		return f.String()
	case f.IsZero():
		return ""
	case f.CanInt():
		return strconv.FormatInt(f.Int(), 10)
	}
	return f.Addr().Interface().(*time.Time).UTC().Format(plain.Moment)
}

// set reads what text wrote. What cannot be read says nothing.
func (c column) set(r reflect.Value, text string) {
	switch f := r.FieldByIndex(c.at); {
	case f.Kind() == reflect.String:
		f.SetString(text)
	case f.CanInt():
		n, _ := strconv.ParseInt(text, 10, 64)
		f.SetInt(n)
	default:
		t, _ := time.Parse(time.RFC3339Nano, text)
		f.Set(reflect.ValueOf(t))
	}
}

// fields hands over those that say something, by their names.
func (r *Record) fields(put func(name, value string)) {
	v := r.value()
	for _, c := range columns {
		if text := c.text(v); text != "" {
			put(c.name, text)
		}
	}
}

// speak makes the sentence for people.
func (r *Record) speak() { r.Message = os.Expand(meanings[r.Kind].says, r.word) }

// word is what stands for a name in the sentences of meanings.
func (r *Record) word(name string) string {
	switch name {
	case "ticket":
		return cmp.Or(r.Ticket, r.Asset, "no ticket")
	case "step":
		return cmp.Or(r.Step, "?")
	case "from":
		return cmp.Or(r.From, "?")
	case "to":
		return cmp.Or(r.To, "?")
	case "token":
		return strconv.FormatInt(r.Token, 10)
	case "agent":
		switch {
		case r.AgentUID == "":
			return "the daemon"
		case r.AgentPID == "":
			return "uid " + string(r.AgentUID)
		}
		return "pid " + string(r.AgentPID) + " of uid " + string(r.AgentUID)
	case "why":
		if r.Reason != "" {
			return ": " + r.Reason
		}
	case "code":
		return r.Code
	case "call":
		return r.Call
	case "channel":
		if r.Channel == "" {
			return "all channels"
		}
		return "channel " + r.Channel
	case "lost":
		return r.Dropped
	}
	return ""
}
