// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/picketd/picket/agent/strict"
)

// kind is a type of channel: a row of the table in kinds.go.
type kind struct {
	name    string
	keys    []string                                  // that it understands, of those that are not for all types
	timeout time.Duration                             // when none is configured. Defaults to DefaultTimeout
	attempt func(timeout time.Duration) time.Duration // what an attempt takes at most; nil: the time-out
	workers int                                       // attempts at once. Defaults to DefaultWorkers
	rates   []string                                  // what its receiver bears, when no rate is configured
	secret  bool                                      // its URL is one

	// open makes what sends, and demands on the way what is right. What it returns counts only if nothing is wrong.
	open func(*opening) Sender
}

// Env is what channels need beside their configuration.
type Env struct {
	Files   Files        // may be nil where no channel names a file
	Version string       // for User-Agent
	Output  io.Writer    // where channels of type log write their line; nil: Logger
	Logger  *slog.Logger // of channels of type log
}

// opening is a channel that is being made of its configuration. What is wrong is gathered, so that all is told at once.
type opening struct {
	Config
	Env
	problems []strict.Problem
	unread   bool // a file was not looked at
}

// demand notes a problem with key unless ok.
func (o *opening) demand(ok bool, key, format string, args ...any) {
	if !ok {
		o.problems = append(o.problems, strict.Problem{Key: key, Message: fmt.Sprintf(format, args...)})
	}
}

// read is what check makes of the file that key names: nothing where there is none, or it is wrong.
func (o *opening) read(key, name string, read func(string) (string, error), check func(string) error) string {
	if name == "" {
		return ""
	}
	text, err := read(name)
	if err == nil {
		err = check(text)
	}
	switch {
	case errors.Is(err, ErrUnread):
		o.unread = true
	case err != nil:
		o.demand(false, key, "%v", err)
	default:
		return text
	}
	return ""
}

// secret is what is in a file of one line.
func (o *opening) secret(key, name string, check func(string) error) string {
	return o.read(key, name, func(name string) (string, error) { return o.Files.Secret(name) }, check)
}

// either is the value of a key, or what is in the file that key_file names.
func (o *opening) either(key, value, file string, check func(string) error) string {
	o.demand(value == "" || file == "", key+"_file", "cannot go with %s: write one of them", key)
	if value == "" {
		return o.secret(key+"_file", file, func(s string) error {
			if err := check(s); err != nil {
				return fmt.Errorf("what is in %s %w", file, err)
			}
			return nil
		})
	}
	err := check(value)
	o.demand(err == nil, key, "%v", err)
	return value
}
