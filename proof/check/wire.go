// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// request is what a call's body may say, of all calls.
type request struct {
	Asset     string          `json:"asset"`
	Task      string          `json:"task"`
	Heartbeat string          `json:"heartbeat"`
	MaxHold   string          `json:"max_hold"`
	PID       int             `json:"pid"`
	Request   string          `json:"request"`
	Step      string          `json:"step"`
	State     string          `json:"state"`
	Facts     json.RawMessage `json:"facts"`
	Finish    bool            `json:"finish"`
	Error     string          `json:"error"`
	Final     bool            `json:"final"`
	Title     string          `json:"title"`
	Text      string          `json:"text"`
	Severity  string          `json:"severity"`
	Channels  []string        `json:"channels"`
	Channel   string          `json:"channel"`
	IDs       []string        `json:"ids"`
}

// response is what an answer's body may say, of all calls, problems among them.
type response struct {
	Claim    *claim                  `json:"claim"`
	Claims   []claim                 `json:"claims"`
	Ticket   *ticket                 `json:"ticket"`
	Next     []next                  `json:"next"`
	Replayed bool                    `json:"replayed"`
	States   map[string]*ticketState `json:"states"`
	Events   []event                 `json:"events"`
	Refused  []event                 `json:"refused"`
	Intents  []intent                `json:"intents"`
	Hosts    []daemon                `json:"hosts"`

	Code   string  `json:"code"`
	Detail string  `json:"detail"`
	Reason string  `json:"reason"`
	State  string  `json:"state"`
	Holder *holder `json:"holder"`
}

type claim struct {
	ID          string  `json:"id"`
	Token       int64   `json:"token"`
	Asset       string  `json:"asset"`
	Task        string  `json:"task"`
	Status      string  `json:"status"`
	Reason      *string `json:"reason"`
	TrustedMS   int64   `json:"trusted_ms"`
	PID         *int    `json:"pid"`
	HeartbeatMS *int64  `json:"heartbeat_ms"`
	MaxHoldMS   int64   `json:"max_hold_ms"`
}

type ticket struct {
	ID           string              `json:"id"`
	State        string              `json:"state"`
	Token        int64               `json:"token"`
	Run          int64               `json:"run"`
	Revision     int64               `json:"revision"`
	Steps        map[string]step     `json:"steps"`
	Failure      *failure            `json:"failure"`
	Notification *notification       `json:"notification"`
	Delivery     map[string]delivery `json:"delivery"`
	Damaged      string              `json:"damaged"`
}

type step struct {
	State string          `json:"state"`
	Facts json.RawMessage `json:"facts"`
	Token int64           `json:"token"`
}

type failure struct {
	Step  string `json:"step"`
	Count int64  `json:"count"`
	Final bool   `json:"final"`
}

type notification struct {
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	Severity string          `json:"severity"`
	Facts    json.RawMessage `json:"facts"`
	Channels []string        `json:"channels"`
}

// told is what a call would have people told.
func (r *request) told() *notification {
	return &notification{r.Title, r.Text, r.Severity, r.Facts, nil}
}

// says: do these words stand in what a receiver got?
func (n *notification) says(s sending) bool {
	return n.Title == s.Title && (s.Told == nil || words(n) == words(&notification{s.Title, s.Told.Text, s.Told.Severity, s.Told.Facts, nil}))
}

type delivery struct {
	Status   string `json:"status"`
	Attempts int64  `json:"attempts"`
	Host     string `json:"host"`
}

type next struct {
	Step   string   `json:"step"`
	States []string `json:"states"`
}

type holder struct {
	Host        string `json:"host"`
	PID         int    `json:"pid"`
	Task        string `json:"task"`
	RemainingMS int64  `json:"remaining_ms"`
}

type ticketState struct {
	State string `json:"state"`
	Run   int64  `json:"run"`
}

type event struct {
	Seq    int64           `json:"seq"`
	At     time.Time       `json:"at"`
	Event  string          `json:"event"`
	From   string          `json:"from"`
	To     string          `json:"to"`
	Step   string          `json:"step"`
	Token  int64           `json:"token"`
	Host   string          `json:"host"`
	Agent  string          `json:"agent"`
	Reason string          `json:"reason"`
	Facts  json.RawMessage `json:"facts"`
	Count  int64           `json:"count"`
}

type daemon struct {
	ID   string `json:"id"`
	Host string `json:"host"`
}

type intent struct {
	Ticket   string              `json:"ticket"`
	Run      int64               `json:"run"`
	Channels map[string]delivery `json:"channels"`
}

// same is equal for what is equal as JSON: keys in any order, numbers by their literal. Nothing is the empty object.
func same(facts json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(facts))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || value == nil {
		value = map[string]any{}
	}
	plain, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was decoded a line before
	}
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:8])
}

// namesOf are the names in an object, also those that stand twice; none, if it is no object.
func namesOf(object json.RawMessage) (names []string) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if open, _ := decoder.Token(); open != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		var value json.RawMessage
		name, err := decoder.Token()
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		names = append(names, name.(string))
	}
	return names
}
