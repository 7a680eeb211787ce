// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"encoding/json"
	"net/url"
)

// answer is what is read of the API's answers: the fields of all of them in one.
type answer struct {
	Code    string   `json:"code"`
	Claim   *claim   `json:"claim"`
	Claims  []claim  `json:"claims"`
	Ticket  *ticket  `json:"ticket"`
	Tickets []ticket `json:"tickets"`
	Next    []next   `json:"next"`
	Intents []intent `json:"intents"`
	More    bool     `json:"more"`
}

type claim struct {
	ID     string `json:"id"`
	Token  int64  `json:"token"`
	Asset  string `json:"asset"`
	Task   string `json:"task"`
	Status string `json:"status"`
}

type ticket struct {
	Asset    string              `json:"asset"`
	Task     string              `json:"task"`
	State    string              `json:"state"`
	Run      int64               `json:"run"`
	Damaged  string              `json:"damaged"`
	Delivery map[string]delivery `json:"delivery"`
}

type delivery struct {
	Status string `json:"status"`
}

type next struct {
	Step   string   `json:"step"`
	States []string `json:"states"`
}

type intent struct {
	Asset    string              `json:"asset"`
	Task     string              `json:"task"`
	Key      string              `json:"key"`
	Status   string              `json:"status"`
	Channels map[string]delivery `json:"channels"`
}

// terminal reports whether nothing more comes, unless an operator reopens the ticket.
func (t *ticket) terminal() bool { return t.State == "FINISHED" || t.State == "FAILED" }

// name is a ticket's.
type name struct{ asset, task string }

func (n name) path() string { return url.PathEscape(n.asset) + "/" + url.PathEscape(n.task) }

// body is JSON of what can always be written as such.
func body(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
