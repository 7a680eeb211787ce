// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestG1_ToG12_UnderFaults makes short histories over each kind of Redis and has them checked: make proof makes long ones, and many.
func TestG1_ToG12_UnderFaults(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may make namespaces")
	}
	dir := t.TempDir()
	for name, pkg := range map[string]string{"picket": "../daemon/cmd/picket", "proof": "."} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("cannot build %s: %v\n%s", name, err, out)
		}
	}
	seed := strconv.FormatInt(time.Now().Unix(), 10)
	cmd := exec.Command(filepath.Join(dir, "proof"), "campaign", "-histories", "3", "-at-once", "3", "-time", "20s", "-profiles", "kept",
		"-seed", seed, "-picket", filepath.Join(dir, "picket"), "-out", t.ArtifactDir())
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%v: the same again with -seed %s", err, seed)
	}
}
