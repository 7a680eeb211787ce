// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedClient: the served document passes a common linter's recommended rules, and a client whose types are generated
// from it compiles and takes an asset through the whole flow. PICKET_NPM=demand forbids to skip it.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	skip := t.Skipf
	if os.Getenv("PICKET_NPM") == "demand" {
		skip = t.Fatalf
	}
	if _, err := exec.LookPath("npm"); err != nil {
		skip("npm is not installed: Node.js 20 or later is needed")
	}
	h := setup(t)
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/typescript")))
	must(t, os.WriteFile(filepath.Join(dir, "openapi.json"), []byte(h.do("GET", "/v1/openapi.json", "").body), 0o600))
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "NO_UPDATE_NOTIFIER=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"); err != nil {
		skip("the packages cannot be installed: %v\n%s", err, out)
	}
	for _, line := range []string{
		"redocly lint openapi.json",
		"openapi-typescript openapi.json -o api.d.ts",
		"tsc --strict --module nodenext --target es2022 --skipLibCheck flow.ts",
	} {
		words := strings.Fields(line)
		if out, err := run(filepath.Join("node_modules", ".bin", words[0]), words[1:]...); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	if out, err := run("node", "flow.js", h.socket); err != nil {
		t.Fatalf("the flow: %v\n%s", err, out)
	}
}
