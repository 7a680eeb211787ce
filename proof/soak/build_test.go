// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package soak

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// change replaces a text, which must stand in the file once.
type change struct{ file, from, to string }

// shorter gives what is remembered a life that a soak outlasts many times.
func shorter(life time.Duration) []change {
	short := fmt.Sprintf("%d * time.Millisecond", life.Milliseconds())
	return []change{
		{"daemon/config_check.go", "= time.Hour // by which", "= 0 * time.Hour // by which"},
		{"engine/roster.go", "= 10 * time.Minute", "= " + short},
		{"engine/store/walk.go", "= time.Hour       // between", "= " + short + " // between"},
		{"engine/lookout/written.go", "= time.Hour // less", "= " + short + " / 2 // less"},
	}
}

// build makes the command picket with some changes of its source.
func build(t *testing.T, changes []change) (path string) {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for i, c := range changes {
		original := filepath.Join(root, c.file)
		text, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), c.from); n != 1 {
			t.Fatalf("%q stands in %s %d times: say anew what is to be changed", c.from, c.file, n)
		}
		changed := filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(changed, []byte(strings.Replace(string(text), c.from, c.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][original] = changed
	}
	doc, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "picket")
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", path, "../../daemon/cmd/picket").CombinedOutput(); err != nil {
		t.Fatalf("cannot build picket: %v\n%s", err, out)
	}
	return path
}
