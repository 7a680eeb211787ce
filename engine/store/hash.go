// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/outbox"
)

// Hash is a ticket as it stands in Redis, or those of its fields that were asked for. docs/schema.md has the table of them.
type Hash map[string]string

// State is empty for a ticket that is not there.
func (h Hash) State() State { return State(h["state"]) }

// Run is the number of the ticket's run, from 1 on.
func (h Hash) Run() int64 { return max(number(h["run"]), 1) }

// Intent is the id of the current intent.
func (h Hash) Intent() string { return h["intent"] }

// Retried is the intent of this run with which a person had a channel sent once more; empty: nobody has.
func (h Hash) Retried(channel string) string { return h["retried."+channel] }

// Knows reports whether an intent is or was the ticket's.
func (h Hash) Knows(intent string) bool { return names(h["intents"], intent) }

// Owner is the identity of the daemon that answers for the ticket in NOTIFYING.
func (h Hash) Owner() string { return h["owner"] }

// Notified reports whether the ticket has a notification.
func (h Hash) Notified() bool { return h[ofContent] != "" }

// Content is the accepted notification, JSON, of a ticket that was read whole.
func (h Hash) Content() string { return h["notification"] }

// Severity is that of the notification; empty when it cannot be read.
func (h Hash) Severity() string {
	var n struct{ Severity string }
	_ = json.Unmarshal([]byte(h["notification"]), &n)
	return n.Severity
}

// Updated is when the ticket was last written.
func (h Hash) Updated() time.Time { return millis(h["updated_at"]) }

// Channels are those of the notification.
func (h Hash) Channels() []string { return strings.Fields(h["channels"]) }

// Status is that of a channel; empty when the notification has no such one.
func (h Hash) Status(channel string) outbox.Status { return outbox.Status(h["delivery."+channel]) }

// Type is that of a channel when the content was frozen.
func (h Hash) Type(channel string) string { return h["type."+channel] }

// Body is what is sent on a channel.
func (h Hash) Body(channel string) []byte { return []byte(h["body."+channel]) }

// Once reports whether a channel was at_most_once for the host that froze the content. On a ticket from before that was frozen, too,
// it is as the caller has it.
func (h Hash) Once(channel string, otherwise bool) bool {
	frozen, ok := h["once."+channel]
	return frozen == "1" || !ok && otherwise
}

// Packed is a Hash in one piece, which takes a fraction of a map's memory: names and values, each after its length.
type Packed string

// Pack is for keeping the hash.
func (h Hash) Pack() Packed {
	b := make([]byte, 0, h.Size()+int64(len(h))*16)
	for name, value := range h {
		for _, text := range []string{name, value} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	return Packed(b)
}

func (p Packed) hash() Hash {
	h := Hash{}
	for rest := []byte(p); len(rest) > 0; {
		var texts [2]string
		for i := range texts {
			size, n := binary.Uvarint(rest)
			end := n + int(size)
			texts[i], rest = string(rest[n:end]), rest[end:]
		}
		h[texts[0]] = texts[1]
	}
	return h
}

// Size is how large the hash is, in bytes.
func (h Hash) Size() (n int64) {
	for _, value := range h {
		n += int64(len(value))
	}
	return n
}

// Weight is how large the ticket is as it stands in Redis, with its records, in bytes.
func (h Hash) Weight() int64 { return h.Size() + number(h["bytes"]) }

// Ticket decodes the hash, with these records. One of which something is missing is an ErrTicketDamaged, beside what there is.
func (h Hash) Ticket(id TicketID, records Records) (Ticket, error) {
	var lost []string
	t := Ticket{
		ID: id, Flow: h["flow"], State: State(h["state"]), Token: number(h["token"]), Run: number(h["run"]),
		Revision: number(h["revision"]), Summary: h["summary"], CreatedAt: millis(h["created_at"]),
		UpdatedAt: millis(h["updated_at"]), HighRisk: risk(h["high_risk"]), Intent: h["intent"], Owner: h["owner"],
		Steps: map[string]Step{}, Delivery: map[string]Delivery{},
	}
	for name, value := range h {
		kind, rest, ok := strings.Cut(name, ".")
		switch {
		case ok && kind+"." == recordOf:
			record, there := records[name]
			switch {
			case !there:
				lost = append(lost, rest)
			case record.Notification != nil:
				t.Notification = record.Notification
			default:
				t.Steps[rest] = record.Step
			}
		case ok && kind == "delivery":
			d := Delivery{
				Status: outbox.Status(value), Attempts: number(h["attempts."+rest]), Host: h["host."+rest], Error: h["error."+rest],
			}
			if at := h["at."+rest]; at != "" {
				d.At = millis(at)
			}
			t.Delivery[rest] = d
		}
	}
	if h["high_risk"] != "" && t.HighRisk == nil {
		lost = append(lost, "whether the risk is high")
	}
	if v := h["failure"]; v != "" {
		t.Failure = &Failure{}
		if err := json.Unmarshal([]byte(v), t.Failure); err != nil {
			t.Failure, lost = nil, append(lost, "the failure")
		} else {
			t.Failure.Count = number(h["failure_count"])
		}
	}
	if len(lost) == 0 {
		return t, nil
	}
	slices.Sort(lost)
	t.Damaged = "Redis has lost what was recorded of " + strings.Join(lost, ", ")
	return t, fmt.Errorf("%w: %s", ErrTicketDamaged, t.Damaged)
}

// names reports whether a list of words has this one.
func names(words, word string) bool {
	return word != "" && strings.Contains(" "+words+" ", " "+word+" ")
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func millis(s string) time.Time { return time.UnixMilli(number(s)).UTC() }
