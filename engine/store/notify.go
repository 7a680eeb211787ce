// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
)

var notifyScript = promising(newScript("notify", "common", "claim"))

// Frozen is a channel with what is sent on it.
type Frozen struct {
	Name, Type string
	Once       bool // at_most_once
	Body       []byte
}

// NotificationDigest tells whether a later call asks for the same content; channels are those that the call names.
func NotificationDigest(title, text, severity string, facts json.RawMessage, channels []string) string {
	h := sha256.New()
	for _, s := range append([]string{title, text, severity, factsDigest("", facts)}, slices.Compact(slices.Sorted(slices.Values(channels)))...) {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:digestBytes])
}

// Notify moves the ticket to NOTIFYING with the content and each channel's body frozen on it, under an intent for which a daemon
// answers: Replayed when it has a notification, Conflict when that is of this claim and another content, Illegal.
func (s *Store) Notify(flow *Flow, intent, daemon, digest string, n Notification, channels []Frozen) (ClaimWrite, error) {
	without := n
	without.Facts = json.RawMessage(noFacts)
	content, err := encode(without)
	more := []any{intent, daemon, content, cmp.Or(string(bytes.TrimSpace(n.Facts)), noFacts), digest, set(flow.from(NotifyCall, Notifying)), len(channels)}
	for _, ch := range channels {
		more = append(more, ch.Name, ch.Type, flag(ch.Once), ch.Body)
	}
	return ClaimWrite{Refusal{Event: "notifying", To: Notifying}, notifyScript, more, ofContent, Record{Notification: &n}}, err
}
