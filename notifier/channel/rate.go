// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"regexp"
	"strconv"
	"time"
)

// Rate is at most N attempts in any Period.
type Rate struct {
	N      int
	Period time.Duration
}

var rateForm = regexp.MustCompile(`^([1-9][0-9]{0,5})/([smh])$`)

// parseRate reads a form like 20/m.
func parseRate(s string) (r Rate, ok bool) {
	m := rateForm.FindStringSubmatch(s)
	if m == nil {
		return Rate{}, false
	}
	n, _ := strconv.Atoi(m[1]) // its digits are few enough
	return Rate{n, map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[m[2]]}, true
}
