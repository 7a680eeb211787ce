// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package strict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
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
