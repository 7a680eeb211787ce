// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lines

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestProgressStaysBelowWhatIsWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	width, most := 0, 0
	p := NewProgress(&out, func() int { return width })
	show := func(line string) {
		p.Show(func(columns int) string {
			most = columns
			return line
		})
	}
	show("1 done")
	show("1 done")
	fmt.Fprintln(p, "a line")
	p.Clear()
	if parts := strings.Split(out.String(), eraseLine); most > 0 || !slices.Equal(parts, []string{"", "1 done", "a line\n1 done", ""}) {
		t.Errorf("on the terminal: %q", parts)
	}
	width = 30
	if show("2 done"); most != 29 {
		t.Errorf("on a terminal of 30 columns it may have %d", most)
	}
}
