// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// checker collects problems.
type checker struct {
	staleCredentials bool // those of an earlier start are here, if any
	problems         []problem
}

// demand notes a problem with key unless ok.
func (k *checker) demand(ok bool, key, format string, args ...any) {
	if !ok {
		k.problems = append(k.problems, problem{Key: key, Message: fmt.Sprintf(format, args...)})
	}
}

// readable demands that reading the files called names went without err, but for stale credentials.
func (k *checker) readable(err error, key string, names ...string) {
	stale := k.staleCredentials && !slices.ContainsFunc(names, filepath.IsAbs)
	k.demand(stale || err == nil, key, "%v", err)
}

// between demands that a duration is within its limits.
func (k *checker) between(key string, d Duration, low, high time.Duration) {
	k.demand(time.Duration(d) >= low && time.Duration(d) <= high, key, "is %s: write %s to %s", d, Duration(low), Duration(high))
}
