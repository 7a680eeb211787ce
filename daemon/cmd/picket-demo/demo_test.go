// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// bin is a folder with what the demo needs.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "demo-bin-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(bin)
		build := exec.Command("go", "build", "-trimpath", "-o", bin+"/", "./daemon/cmd/picket", "./daemon/cmd/picket-demo", "./examples/agent-go")
		build.Dir = "../../.."
		build.Env = append(build.Environ(), "CGO_ENABLED=0") // as packages are made, so that nothing is compiled twice
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// setup returns a command that runs the demo in a folder of its own.
func setup(t *testing.T) (cmd *exec.Cmd, folder string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "demo-test-") // short, because a socket's path must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	cmd = exec.Command(filepath.Join(bin, "picket-demo"),
		"-picket", filepath.Join(bin, "picket"), "-agent", filepath.Join(bin, "agent-go"))
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "TMPDIR="+folder)
	return cmd, folder
}

// nothingLeft checks that the demo's folder is empty and that no process works in it.
func nothingLeft(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		if command, err := os.ReadFile(file); err == nil && bytes.Contains(command, []byte(folder)) {
			t.Errorf("a process is left: %q", command)
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nmap"); err != nil {
		t.Fatal("nmap is needed: .ci/deps installs it")
	}
	showsAll(t, "vsftpd 2.3.4", os.Getenv("PATH"))
}

func TestDemoWithoutNmap(t *testing.T) {
	t.Parallel()
	showsAll(t, "CVE-2021-44228", "/nowhere")
}

// showsAll runs the demo with the programs in path; its list is told of with text.
func showsAll(t *testing.T, text, path string) {
	t.Helper()
	cmd, folder := setup(t)
	cmd.Env = append(cmd.Env, "PATH="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	nothingLeft(t, folder)
	for _, want := range []string{
		`Idempotency-Key: "127.0.0.1/w48"`, text,
		`Idempotency-Key: "db-01/w48"`,
		"CVE-2021-44228",
		"A was refused, and exits with 124.",
		"db-01/w48 is FINISHED",
		"REFUSED    ASSET_OFFLINE    online",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := bytes.Count(out, []byte(" finished   FINISHED")); n != 2 {
		t.Errorf("%d histories end with FINISHED, want both", n)
	}
	for line := range strings.Lines(string(out)) {
		if utf8.RuneCountInString(line)-1 > columns {
			t.Errorf("longer than %d columns: %s", columns, line)
		}
	}
	if t.Failed() {
		t.Logf("it says:\n%s", out)
	}
}

// Ctrl-C while processes are frozen leaves nothing behind.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	cmd, folder := setup(t)
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(out.String(), "SIGSTOP"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatalf("nobody is frozen: %s", out.String())
		}
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it exits with %d, want 130: %s", code, out.String())
	}
	nothingLeft(t, folder)
}
