// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/proof/history"
)

// Setup is what a history's first record tells of the world: the caller adds what it knows better.
func (s *Stage) Setup(ctx context.Context) (history.Setup, error) {
	o := s.options
	setup := history.Setup{Seed: o.Seed, Topology: o.Topology, TTLMS: o.TTL.Milliseconds()}
	for _, h := range s.Hosts {
		setup.Hosts = append(setup.Hosts, h.Name)
	}
	for _, c := range o.Channels {
		setup.Channels = append(setup.Channels, history.Channel{Name: c.Name, AtMostOnce: c.AtMostOnce, TimeoutMS: c.Timeout.Milliseconds()})
	}
	for _, command := range [][]string{{o.Picket, "version"}, {"redis-server", "--version"}} {
		said, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
		if err != nil {
			return setup, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
		first, _, _ := bytes.Cut(said, []byte("\n"))
		setup.Versions = append(setup.Versions, string(first))
	}
	var kernel unix.Utsname
	err := unix.Uname(&kernel)
	setup.Versions = append(setup.Versions, runtime.Version(), "Linux "+unix.ByteSliceToString(kernel.Release[:]))
	return setup, err
}
