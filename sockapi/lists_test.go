// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// TestAReportsListsAndRuns, as the client notes and reads them.
func TestAReportsListsAndRuns(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := client.New(h.socket)
	t.Cleanup(c.CloseIdleConnections)
	digest := strings.Repeat("0a", 32)
	note := client.ReportRequest{List: digest, Total: 1001, Run: "one", Works: true}
	got, err := c.NoteReport(t.Context(), "t", "nightly", note)
	if err != nil || got.Works != 0 || got.Parts != 0 || got.Lists[digest] != 1001 {
		t.Errorf("%+v, %v", got, err)
	}
	of, err := c.Part(t.Context(), digest, 0)
	if err != nil || of == nil || len(of) != 0 {
		t.Errorf("of a part that is not kept there is %q, %v", of, err)
	}
	must(t, c.PutPart(t.Context(), digest, 1, []string{"WEB-01.Example.com", "täst"}))
	of, err = c.Part(t.Context(), digest, 1)
	if err != nil || fmt.Sprint(of) != "[web-01.example.com täst]" {
		t.Errorf("got %q, %v", of, err)
	}
	note.Run, note.Works = "two", false
	got, err = c.NoteReport(t.Context(), "t", "nightly", note)
	if err != nil || got.Works != 1 || got.Parts != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
