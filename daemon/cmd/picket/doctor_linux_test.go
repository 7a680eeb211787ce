// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/picketd/picket/daemon/doctor"
)

// TestDoctorTellsWhyNobodyIsLetIn runs it as a user who may not connect.
func TestDoctorTellsWhyNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("another user is needed, and so is root")
	}
	f := startFake(t)
	dir := filepath.Dir(f.socket)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	picket := copyOfPicket(t, dir)
	for _, c := range []struct {
		mode  os.FileMode
		right string
	}{
		{0o660, "usermod -aG root 12345, and log in again"},
		{0o600, `write socket.mode = "0660" and a socket.group that 12345 is in`},
	} {
		if err := os.Chmod(f.socket, c.mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(picket, "doctor", "--json", "--socket", f.socket)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		out, err := cmd.Output()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != exitFailed {
			t.Errorf("it ends with %v: %s", err, out)
		}
		var d doctor.Diagnosis
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Findings, func(f doctor.Finding) bool { return f.Check == "access" })
		if i < 0 || d.Findings[i].Level != doctor.Wrong || d.Findings[i].Right != c.right {
			t.Errorf("mode %o: %+v", c.mode, d.Findings)
		}
	}
}

// copyOfPicket is the command where every user may run it.
func copyOfPicket(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "picket")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
