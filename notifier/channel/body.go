// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// payload is the body of webhook, exec and log, but for facts, which come last in data, to the letter.
type payload struct {
	Type      string      `json:"type"`
	Timestamp time.Time   `json:"timestamp"`
	Data      payloadData `json:"data"`
}

type payloadData struct {
	ID       string `json:"id"`
	Asset    string `json:"asset"`
	Task     string `json:"task"`
	Run      int64  `json:"run"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Severity string `json:"severity"`
}

// renderJSON makes the body of m. Facts are spliced in, not encoded: an encoder would change what is signed and compared.
func renderJSON(m Message) ([]byte, error) {
	facts := m.Facts
	if len(facts) == 0 {
		facts = json.RawMessage("{}")
	}
	if !json.Valid(facts) || bytes.TrimLeft(facts, " \t\r\n")[0] != '{' {
		return nil, errors.New("facts must be a JSON object")
	}
	b, err := plain.JSON(payload{
		Type:      "picket.notification",
		Timestamp: m.At.UTC(),
		Data:      payloadData{m.Ticket, m.Asset, m.Task, m.Run, m.Title, m.Text, m.Severity},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot encode the message: %w", err)
	}
	b = append(bytes.TrimSuffix(b, []byte("}}")), `,"facts":`...)
	return append(append(b, facts...), "}}"...), nil
}
