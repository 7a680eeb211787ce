// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that stands in the file as a string with a unit, such as "15s". A bare number is refused:
// nobody can see its unit.
type Duration time.Duration

// UnmarshalText reads Go's form of a duration. It must be longer than nothing.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("has no unit: write %q for seconds", s+"s")
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return errors.New(`is not a duration: write a number with a unit (ms, s, m, h), such as "30s" or "1h30m"`)
	}
	if v <= 0 {
		return errors.New("must be longer than nothing")
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes it as it stands in the file.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is Go's form without the zero units at its end: 1h, not 1h0m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
