// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"strings"
)

// ErrConfig is any error in the configuration: of the file, of its values, of the secret files that it names.
var ErrConfig = errors.New("configuration")

// configError is an ErrConfig: a line for each thing that is wrong.
type configError []string

func (e configError) Error() string        { return strings.Join(e, "\n") }
func (e configError) Is(target error) bool { return target == ErrConfig }

// problem is one thing that is wrong: at which key, and what would be right.
type problem struct {
	key     string // a path such as lock.ttl or channel[0].url
	message string
}

func (p problem) String() string {
	if p.key == "" {
		return p.message
	}
	return p.key + ": " + p.message
}

// located makes an ErrConfig of problems, nil of none, each with the line of its key or of the table where the key is missing.
func located(path string, lines map[string]int, problems []problem) error {
	var e configError
	for _, p := range problems {
		at := p.key
		for lines[at] == 0 && strings.Contains(at, ".") {
			at = at[:strings.LastIndex(at, ".")]
		}
		switch {
		case lines[at] > 0:
			e = append(e, fmt.Sprintf("%s:%d: %s", path, lines[at], p))
		case path != "":
			e = append(e, fmt.Sprintf("%s: %s", path, p))
		default:
			e = append(e, p.String())
		}
	}
	if e == nil {
		return nil
	}
	return e
}
