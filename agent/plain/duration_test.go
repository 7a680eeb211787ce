// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"testing"
	"time"
)

func TestDurationHasNoZeroUnits(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{
		0: "0s", 1500: "1.5s", 600_000: "10m", 605_000: "10m5s", 86_400_000: "24h", 3_900_000: "1h5m", 3_605_000: "1h0m5s",
	} {
		if got := Duration(time.Duration(ms) * time.Millisecond); got != want {
			t.Errorf("%d ms are %s, want %s", ms, got, want)
		}
	}
}

func TestAboutIsRounded(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		9400 * time.Millisecond: "9s", 151 * time.Second: "2m30s", 5 * time.Minute: "5m", 3*time.Hour + 31*time.Second: "3h1m", 2 * time.Hour: "2h",
	} {
		if got := About(d); got != want {
			t.Errorf("%s is about %s, want %s", d, got, want)
		}
	}
}
