// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"encoding/json"
	"testing"
)

func TestJSONKeepsFactsToTheLetter(t *testing.T) {
	t.Parallel()
	facts := `{"n":12345678901234567,"f":1.0,"e":[],"html":"<&>"}`
	if b, err := JSON(map[string]any{"facts": json.RawMessage(facts)}); err != nil || string(b) != `{"facts":`+facts+"}" {
		t.Errorf("got %s, %v", b, err)
	}
	if _, err := JSON(make(chan int)); err == nil {
		t.Error("a channel is JSON")
	}
}
