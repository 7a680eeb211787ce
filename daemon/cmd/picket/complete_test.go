// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestFilesAreLeftToTheShell: an empty candidate would be inserted instead of a file's name.
func TestFilesAreLeftToTheShell(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"daemon --config", "audit --file", "audit --ticket"} {
		var out, errs bytes.Buffer
		runs(append(append([]string{"picket", completeWord}, strings.Fields(line)...), ""), strings.NewReader(""), &out, &errs)
		if out.Len() > 0 {
			t.Errorf("%s: got %q", line, &out)
		}
	}
}
