// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheLastSixteenWritesOfAnHourAreKept: the newest of more, and none that is older.
func TestTheLastSixteenWritesOfAnHourAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w writes
		for i := range 20 {
			w.note(fmt.Sprint(i), 1)
			time.Sleep(time.Minute)
		}
		last, _ := w.take()
		if _, oldest := last["4"]; len(last) != 16 || !oldest {
			t.Errorf("kept are %v", last)
		}
		time.Sleep(50 * time.Minute)
		last, _ = w.take()
		if _, newest := last["19"]; len(last) != 10 || !newest {
			t.Errorf("an hour later kept are %v", last)
		}
	})
}
