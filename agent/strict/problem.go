// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package strict reads a configuration in TOML, and forgives nothing: an unknown key, a key in another case, a value of
// another type, a duration without a unit is a problem with its key, its line and what would be right. All of them are told
// at once.
//
// The structs that it reads into have a toml tag on each field; those of an embedded struct stand beside the others.
package strict

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/picketd/picket/agent/plain"
)

// ErrConfig is any error in a configuration: of the file, of its values, of the files that it names.
var ErrConfig = errors.New("configuration")

// Error is an ErrConfig: a line for each thing that is wrong.
type Error []string

// Error is all lines.
func (e Error) Error() string { return strings.Join(e, "\n") }

// Is says that it is an ErrConfig.
func (e Error) Is(target error) bool { return target == ErrConfig }

// Problem is one thing that is wrong: at which key, and what would be right.
type Problem struct {
	Key     string // a path such as lock.ttl or channel[0].url
	Line    int    // where it stands, when that is not where the key does
	Message string
}

// String is the key, if there is one, and what is wrong there.
func (p Problem) String() string {
	if p.Key == "" {
		return p.Message
	}
	return p.Key + ": " + p.Message
}

// Problems gathers what is wrong, so that all is told at once.
type Problems []Problem

// Demand notes a problem with key unless ok.
func (p *Problems) Demand(ok bool, key, format string, args ...any) {
	if !ok {
		*p = append(*p, Problem{Key: key, Message: fmt.Sprintf(format, args...)})
	}
}

// Located makes an Error of problems, nil of none, each with the line of its key or of the table where the key is missing, in the
// order of the lines.
func Located(path string, lines map[string]int, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	line := func(p Problem) int {
		at := p.Key
		for lines[at] == 0 && strings.Contains(at, ".") {
			at = at[:strings.LastIndex(at, ".")]
		}
		return cmp.Or(p.Line, lines[at])
	}
	var e Error
	for _, p := range slices.SortedStableFunc(slices.Values(problems), func(a, b Problem) int { return line(a) - line(b) }) {
		switch n := line(p); {
		case n > 0:
			e = append(e, fmt.Sprintf("%s:%d: %s", path, n, p))
		case path != "":
			e = append(e, fmt.Sprintf("%s: %s", path, p))
		default:
			e = append(e, p.String())
		}
	}
	return e
}

// Suggest says what may have been meant by a word that is none of known.
func Suggest(word string, known []string) string {
	best := slices.MinFunc(known, func(a, b string) int { return Distance(word, a) - Distance(word, b) })
	if Distance(word, best) <= 1+len(best)/4 {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "write one of " + strings.Join(known, ", ")
}

// Distance is Levenshtein's, in bytes, with upper and lower case taken for the same.
func Distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := diagonal
			if a[i] != b[j] {
				swap++
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, swap)
		}
	}
	return row[len(b)]
}

// Date is a day, that stands in the file without quotes, such as 2027-01-31. The zero Date is none.
type Date = toml.LocalDate

// Duration is a time.Duration that stands in the file as a string with a unit, such as "15s". A bare number is refused:
// nobody can see its unit.
type Duration time.Duration

// OrNone is a Duration for which "0" is none.
type OrNone Duration

// UnmarshalText reads a Duration, or 0.
func (d *OrNone) UnmarshalText(text []byte) error {
	if string(text) == "0" {
		*d = 0
		return nil
	}
	return (*Duration)(d).UnmarshalText(text)
}

func (d OrNone) String() string { return Duration(d).String() }

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
