// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package strict

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// Duration is a time.Duration that stands in the file as a string with a unit, such as "15s". A bare number is refused:
// nobody can see its unit.
type Duration time.Duration

// days are whole days in front of Go's form of a duration.
var days = regexp.MustCompile(`^([0-9]{1,5})d(.*)$`)

// UnmarshalText reads Go's form of a duration, with days of 24 hours in front if there are any: "90s", "7d", "1d12h". It must
// be longer than nothing.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("has no unit: write %q for seconds", s+"s")
	}
	var v time.Duration
	if m := days.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1]) // its digits are few enough
		v, s = time.Duration(n)*24*time.Hour, cmp.Or(m[2], "0")
	}
	rest, err := time.ParseDuration(s)
	if err != nil || rest < 0 && v > 0 {
		return errors.New(`is not a duration: write a number with a unit (ms, s, m, h, d), such as "30s" or "1h30m"`)
	}
	v += rest
	if v <= 0 {
		return errors.New("must be longer than nothing")
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes it as it stands in the file.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is Go's form without the zero units at its end: 1h, not 1h0m0s.
func (d Duration) String() string { return plain.Duration(time.Duration(d)) }
