// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "fmt"

// broken ends the story: what follows an error cannot be told. Only the goroutine of tell may panic with it.
type broken struct{ error }

// check goes on only without an error. what says what could not be done; it may be empty.
func check(what string, err error) {
	switch {
	case err == nil:
	case what == "":
		panic(broken{err})
	default:
		panic(broken{fmt.Errorf("cannot %s: %w", what, err)})
	}
}

// catch is to be deferred where the story is told, and makes its error of what check found.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case broken:
		*err = r.error
	default:
		panic(r)
	}
}
