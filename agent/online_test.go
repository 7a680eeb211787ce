// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// TestACommandThatTellsOfAnErrorHasNotFoundTheAssetOffline: whoever failed has not looked.
func TestACommandThatTellsOfAnErrorHasNotFoundTheAssetOffline(t *testing.T) {
	t.Parallel()
	for facts, want := range map[string]string{
		`{"error": "resolver down"}`: "its facts tell of an error: resolver down",
		`{"error": ""}`:              "",
		`{"asked": 2}`:               "",
	} {
		j := jobOn(t, fmt.Sprintf("[step.online]\ncommand = [\"echo\", '{\"state\": \"ASSET_OFFLINE\", \"facts\": %s}']\n", facts))
		out, err := j.online(t.Context())
		if want == "" && (err != nil || out.State != client.StateAssetOffline) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %+v, %v", facts, out, err)
		}
	}
}
