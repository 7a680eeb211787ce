// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"120":                            2 * time.Minute,
		" 5 ":                            5 * time.Second,
		"-1":                             0,
		"1.5":                            2 * time.Second,
		"7.3":                            8 * time.Second,
		"7.0":                            7 * time.Second,
		"0.2":                            time.Second,
		"1e3":                            0,
		"NaN":                            0,
		"+Inf":                           0,
		"0x10":                           0,
		"soon":                           0,
		"99999999999999999999":           0,
		"9999999999999":                  maxRetryAfter,
		"Sun, 29 Nov 2026 08:01:00 GMT":  time.Minute,
		"Sunday, 29-Nov-26 08:01:00 GMT": time.Minute,
		"Sun Nov 29 08:01:00 2026":       time.Minute,
		"Sun, 29 Nov 2026 07:00:00 GMT":  0,
		"Sun, 29 Nov 9026 07:00:00 GMT":  maxRetryAfter,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
	if got := retryAfter(nil, now); got != 0 {
		t.Errorf("none is %v", got)
	}
}
