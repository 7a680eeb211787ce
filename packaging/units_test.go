// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var units = []string{"picketd.service", "picketd.socket", "picket-run.service", "picket-run.timer"}

// unitsRoot is a root with nothing but the units and a program where they expect it, so that no unit of this machine is read.
func unitsRoot(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	root := t.TempDir()
	for _, dir := range []string{"usr/lib/systemd/system", "usr/bin", "bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, unit := range units {
		doc, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "usr/lib/systemd/system", unit), doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What systemd itself brings.
	for _, unit := range []string{"sysinit.target", "basic.target", "sockets.target", "timers.target", "multi-user.target", "network-online.target"} {
		if err := os.WriteFile(filepath.Join(root, "usr/lib/systemd/system", unit), []byte("[Unit]\nDescription=x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"usr/bin/picket", "bin/sh"} {
		if err := os.WriteFile(filepath.Join(root, program), []byte("#!"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestSystemdTakesTheUnits(t *testing.T) {
	t.Parallel()
	root := unitsRoot(t)
	out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no", "--root=" + root}, units...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify says: %v\n%s", err, out)
	}
}

// TestTheServicesAreHardened: an exposure of at most 1.5 of 10, as systemd-analyze counts it.
func TestTheServicesAreHardened(t *testing.T) {
	t.Parallel()
	root := unitsRoot(t)
	for _, unit := range []string{"picketd.service", "picket-run.service"} {
		path := filepath.Join(root, "usr/lib/systemd/system", unit)
		out, err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", path).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}
