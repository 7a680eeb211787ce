// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"fmt"
	"time"
)

// settings are what a process of the load is told on its command line.
type settings struct {
	history string
	by      string
	host    string
	seed    uint64
	ttl     time.Duration
	epoch   int64
	workers int
	tells   bool // one more worker is a teller
	child   bool // of a command: started by another one, and not in its process group
}

func (s *settings) args(kind string) []string {
	return []string{
		"agent", kind, "-history", s.history, "-by", s.by, "-host", s.host, "-seed", fmt.Sprint(s.seed),
		"-ttl", s.ttl.String(), "-epoch", fmt.Sprint(s.epoch), "-workers", fmt.Sprint(s.workers), fmt.Sprintf("-tells=%t", s.tells),
		fmt.Sprintf("-child=%t", s.child),
	}
}
