// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter keeps an absurd Retry-After within what a Duration holds. GiveUp bounds it further.
const maxRetryAfter = 366 * 24 * time.Hour

// digits are seconds. RFC 9110 has whole ones; some receivers send others.
var digits = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]*)?$`)

// retryAfter reads the header of that name, in either form of RFC 9110 section 10.2.3; a part of a second counts as a whole one.
// It is 0 when there is none, or none that can be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && digits.MatchString(value) {
		return time.Duration(math.Ceil(min(seconds, maxRetryAfter.Seconds()))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
