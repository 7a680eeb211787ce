// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
)

// auditRecord is an event with its number.
type auditRecord struct {
	audit.Event
	run  string // of the daemon
	seq  int64
	at   time.Time
	lost []seqSpan // the numbers that a record of kind dropped tells of
}

// identifier is how the journal calls what wrote a record.
const identifier = "picket"

// message is the record in a sentence for people.
func (r *auditRecord) message() string {
	return os.Expand(auditKinds[r.Kind].says, r.word)
}

// word is what stands for a name in the sentences of auditKinds.
func (r *auditRecord) word(name string) string {
	switch name {
	case "ticket":
		return r.subject()
	case "step":
		return orUnknown(r.Step)
	case "from":
		return orUnknown(r.From)
	case "to":
		return orUnknown(r.To)
	case "token":
		return strconv.FormatInt(r.Token, 10)
	case "agent":
		return describeAgent(r.Agent)
	case "why":
		if r.Reason == "" {
			return ""
		}
		return ": " + r.Reason
	case "reason":
		return orUnknown(r.Reason)
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
		return spans(r.lost)
	}
	return ""
}

// subject is what the record is about.
func (r *auditRecord) subject() string {
	switch {
	case r.Task != "":
		return r.Asset + "/" + r.Task
	case r.Asset != "":
		return r.Asset
	}
	return "no ticket"
}

func orUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

func describeAgent(agent string) string {
	pid, uid, ok := strings.Cut(agent, "/")
	switch {
	case !ok:
		return "the daemon"
	case pid == "0": // it is in another PID namespace
		return "uid " + uid
	}
	return "pid " + pid + " of uid " + uid
}

func spans(all []seqSpan) string {
	if len(all) == 0 {
		return ""
	}
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.String()
	}
	return strings.Join(texts, " ")
}

// fields puts the record's own, by the names that they have in the journal and in JSON. One that says nothing is left out.
func (r *auditRecord) fields(put func(name, value string)) {
	pid, uid, known := strings.Cut(r.Agent, "/")
	if !known || pid == "0" {
		pid = ""
	}
	ticket, token := "", ""
	if r.Task != "" {
		ticket = r.Asset + "/" + r.Task
	}
	if r.Token != 0 {
		token = strconv.FormatInt(r.Token, 10)
	}
	for _, f := range [...][2]string{
		{"MESSAGE_ID", auditKinds[r.Kind].id},
		{"SYSLOG_IDENTIFIER", identifier},
		{"PICKET_EVENT", string(r.Kind)},
		{"PICKET_RUN", r.run},
		{"PICKET_SEQ", strconv.FormatInt(r.seq, 10)},
		{"PICKET_TIME", r.at.UTC().Format(plain.Moment)},
		{"PICKET_ASSET", r.Asset},
		{"PICKET_TICKET", ticket},
		{"PICKET_TOKEN", token},
		{"PICKET_FROM", r.From},
		{"PICKET_TO", r.To},
		{"PICKET_STEP", r.Step},
		{"PICKET_CHANNEL", r.Channel},
		{"PICKET_CALL", r.Call},
		{"PICKET_CODE", r.Code},
		{"PICKET_REASON", r.Reason},
		{"PICKET_HOST", r.Host},
		{"PICKET_AGENT_PID", pid},
		{"PICKET_AGENT_UID", uid},
		{"PICKET_DROPPED", spans(r.lost)},
	} {
		if f[1] != "" {
			put(f[0], f[1])
		}
	}
}

// CanonicalAsset is an asset as it stands in records. Its error is an engine.ErrInvalidAsset.
func CanonicalAsset(asset string) (string, error) {
	a, err := engine.ParseAsset(asset)
	return string(a), err
}
