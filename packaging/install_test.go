// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallLaysOutBelowDestdir, with units that name the program's place, and touches no configuration that is there.
func TestInstallLaysOutBelowDestdir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, manual := filepath.Join(dir, "root"), filepath.Join(dir, "man")
	for path, content := range map[string]string{
		filepath.Join(dir, "picket"):                     "#!/bin/sh\n",
		filepath.Join(manual, "picket.1"):                ".TH",
		filepath.Join(manual, "picket.toml.5.gz"):        "x",
		filepath.Join(root, "etc/picket/picket.toml"):    "# mine\n",
		filepath.Join(root, "etc/picket/credentials/pw"): "secret\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("./install", filepath.Join(dir, "picket"), manual)
	cmd.Env = append(os.Environ(), "DESTDIR="+root, "PREFIX=/opt/picket")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, mode := range map[string]os.FileMode{
		"opt/picket/bin/picket": 0o755, "opt/picket/share/man/man1/picket.1": 0o644, "opt/picket/share/man/man5/picket.toml.5.gz": 0o644,
		"opt/picket/lib/sysusers.d/picket.conf": 0o644, "opt/picket/lib/systemd/system/picketd.socket": 0o644,
		"opt/picket/share/bash-completion/completions/picket": 0o644, "opt/picket/share/doc/picket/examples/redis.acl": 0o644, "opt/picket/share/doc/picket/examples/sentinel.acl": 0o644, "etc/picket/agent.toml": 0o644, "etc/picket/credentials": 0o700,
	} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), mode)
		}
	}
	for _, unit := range units {
		doc := read(t, filepath.Join(root, "opt/picket/lib/systemd/system", unit))
		if strings.Contains(doc, "/usr/bin/picket") || strings.HasSuffix(unit, ".service") && !strings.Contains(doc, "/opt/picket/bin/picket ") {
			t.Errorf("%s does not name the program's place:\n%s", unit, doc)
		}
	}
	if got := read(t, filepath.Join(root, "etc/picket/picket.toml")); got != "# mine\n" {
		t.Errorf("the configuration that was there is now\n%s", got)
	}
}
