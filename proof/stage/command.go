// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// needed are the commands that a stage runs, with Debian's packages.
var needed = [][2]string{
	{"redis-server", "redis-server"},
	{"ip", "iproute2"},
	{"tc", "iproute2"},
	{"nsenter", "util-linux"},
	{"mount", "mount"},
	{"mkfs.ext4", "e2fsprogs"},
}

// Missing is an error that names the commands which a stage needs and this machine lacks, with Debian's packages.
func Missing() error {
	var missing []error
	for _, n := range needed {
		if _, err := exec.LookPath(n[0]); err != nil {
			missing = append(missing, fmt.Errorf("there is no %s: install %s", n[0], n[1]))
		}
	}
	return errors.Join(missing...)
}

// run runs a command, and tells in its error what the command said.
func run(ctx context.Context, name string, args ...string) error {
	return output(exec.CommandContext(ctx, name, args...))
}

func output(cmd *exec.Cmd) error {
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}

// must is for what ends or begins a fault, and for the journal: a history that is not what it says proves nothing.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// pollEvery is how long is waited between two looks at something that is about to be ready.
const pollEvery = 20 * time.Millisecond

// await waits until something holds; the error says what does not.
func await(ctx context.Context, not string, holds func() bool) error {
	for !holds() {
		select {
		case <-ctx.Done():
			return errors.Join(errors.New(not), ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	return nil
}
