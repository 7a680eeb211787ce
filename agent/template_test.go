// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"slices"
	"strings"
	"testing"
)

func asset(s string) values { return values{Asset: s, Task: "w48", Ticket: s + "/w48"} }

func TestAnAssetStaysWithinItsArgument(t *testing.T) {
	t.Parallel()
	c, err := newCommand([]string{"scan", "-u", "https://{{.Asset}}/", "{{.Asset}}", "{{.Ticket}}"})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"web-01", "a b", `"; rm -rf / #`, "$(id)", "{{.Task}}", "名", "a\tb"} {
		got, err := c.fill(asset(a))
		if want := []string{"scan", "-u", "https://" + a + "/", a, a + "/w48"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", a, got, err)
		}
	}
}

func TestAnAssetIsNoOption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv  []string
		asset string
		good  bool
	}{
		{[]string{"scan", "{{.Asset}}"}, "web-01", true},
		{[]string{"scan", "{{.Asset}}"}, "-oX", false},
		{[]string{"scan", "{{.Asset}}:443"}, "--script=x", false},
		{[]string{"scan", "--", "{{.Asset}}"}, "-oX", true},
		{[]string{"scan", "{{.Asset}}", "--"}, "-oX", false},
		{[]string{"scan", "--target={{.Asset}}"}, "-oX", true},
		{[]string{"scan", "-u{{.Asset}}"}, "-oX", true},
		{[]string{"scan", "{{.Asset}}", "{{.Asset}}"}, "--", false},
		{[]string{"sh", "-c", `scan "$1"`, "sh", "{{.Asset}}"}, "a;id", true},
		{[]string{"sh", "-c", `scan "$1"`, "sh", "{{.Asset}}"}, "--script=x", false},
		{[]string{"sh", "-c", `scan "$1"`, "sh", "--", "{{.Asset}}"}, "--script=x", false},
		{[]string{"sh", "-c", `scan "$PICKET_ASSET"`}, "--script=x", false},
	} {
		command, err := newCommand(c.argv)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := command.fill(asset(c.asset)); (err == nil) != c.good {
			t.Errorf("%q with %q: %v", c.argv, c.asset, err)
		}
	}
}

// TestNoInterpreterReadsAnAsset: refused in the configuration, whatever the assets are; and what is right is not.
func TestNoInterpreterReadsAnAsset(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{"sh", "-c", "scan {{.Asset}}"},
		{"sh", "-ec", "scan {{.Asset}}"},
		{"/bin/bash", "-ce", "scan '{{.Asset}}'"},
		{"sh", "-cu", "scan {{.Asset}}"},
		{"sh", "-ceu", "scan {{.Asset}}"},
		{"bash", "-c", "--", "scan {{.Asset}}"},
		{"bash", "-c", "-e", "scan {{.Asset}}"},
		{"bash", "-o", "pipefail", "-c", "scan {{.Asset}}"},
		{"bash", "-c", "-o", "pipefail", "scan {{.Asset}}"},
		{"bash", "-euo", "pipefail", "-c", "scan {{.Task}}"},
		{"bash", "+x", "-c", "scan {{.Asset}}"},
		{"bash", "--norc", "-c", "scan {{.Asset}}"},
		{"bash", "{{.Asset}}"},
		{"busybox", "sh", "-c", "scan {{.Asset}}"},
		{"timeout", "9", "sh", "-c", "scan {{.Asset}}"},
		{"timeout", "9", "nice", "-n", "5", "bash", "-lc", "scan {{.Asset}}"},
		{"env", "LC_ALL=C", "sh", "-c", "scan {{.Asset}}"},
		{"env", "-S", "sh -c {{.Asset}}"},
		{"env", "-iS", "scan {{.Asset}}"},
		{"nice", "sh", "-c", "scan {{.Asset}}"},
		{"docker", "exec", "c", "sh", "-c", "scan {{.Asset}}"},
		{"/opt/own-wrapper", "sh", "-c", "scan {{.Asset}}"},
		{"flock", "/run/lock/x", "-c", "scan {{.Asset}}"},
		{"su", "scanner", "-c", "scan {{.Asset}}"},
		{"python3", "-c", "print('{{.Asset}}')"},
		{"python3.12", "-Ic", "print('{{.Asset}}')"},
		{"python3", "-cprint('{{.Asset}}')"},
		{"perl", "-we", "print '{{.Asset}}'"},
		{"ruby", "-e", "puts '{{.Asset}}'"},
		{"node", "-pe", "'{{.Asset}}'"},
		{"node", "--eval", "'{{.Asset}}'"},
		{"php", "-r", "echo '{{.Asset}}';"},
		{"awk", "BEGIN { print \"{{.Asset}}\" }"},
		{"awk", "-F", ":", "/{{.Asset}}/"},
		{"ssh", "probe", "scan", "{{.Asset}}"},
		{"ssh", "-p", "22", "{{.Asset}}", "scan", "{{.Asset}}"},
		{"ssh", "-o", "ProxyCommand={{.Asset}}", "probe", "scan"},
		{"sshpass", "-e", "ssh", "probe", "scan", "{{.Asset}}"},
		{"docker", "run", "--entrypoint", "sh", "scanner", "-c", "scan {{.Asset}}"},
		{"docker", "run", "--entrypoint=/bin/sh", "scanner", "-c", "scan {{.Asset}}"},
		{"timeout", "9", "sh", "-c", `exec "$@"`, "sh", "sh", "-c", "scan {{.Asset}}"},
		{"timeout", "9", "bash", "-O", "extglob", "-c", "scan {{.Asset}}"},
		{"python3", "-W", "ignore", "-c", "print('{{.Asset}}')"},
		{"find", "/srv", "-exec", "sh", "-c", "scan {{.Asset}}", ";"},
		{"sh", "-c", "eval scan {{.Ticket}}"},
	} {
		if _, err := newCommand(argv); err == nil || !strings.Contains(err.Error(), `let the code read "$PICKET_ASSET"`) {
			t.Errorf("%q: %v", argv, err)
		}
	}
	for _, argv := range [][]string{
		{"nuclei", "-u", "{{.Asset}}", "-jsonl", "-silent"},
		{"nuclei", "-tags", "php", "-c", "25", "-u", "{{.Asset}}"},
		{"nuclei", "-tags", "python", "-u", "{{.Asset}}"},
		{"sh", "-c", `scan "$1"`, "sh", "{{.Asset}}"},
		{"bash", "-euo", "pipefail", "-c", `scan "$1" | sort`, "bash", "{{.Asset}}"},
		{"sh", "/usr/local/bin/scan.sh", "{{.Asset}}"},
		{"python3", "/usr/local/bin/scan.py", "{{.Asset}}"},
		{"timeout", "9", "nmap", "-oX", "-", "--", "{{.Asset}}"},
		{"sudo", "nmap", "-sS", "-oX", "-", "--", "{{.Asset}}"},
		{"env", "LC_ALL=C", "scan", "{{.Asset}}"},
		{"flock", "/run/lock/x", "scan", "{{.Asset}}"},
		{"docker", "run", "--rm", "aquasec/trivy", "image", "{{.Asset}}"},
		{"docker", "exec", "scanner", "sh", "-c", `scan "$1"`, "sh", "{{.Asset}}"},
		{"docker", "run", "--entrypoint", "sh", "scanner", "-c", `scan "$1"`, "sh", "{{.Asset}}"},
		{"timeout", "9", "bash", "-euo", "pipefail", "-c", `scan "$1"`, "bash", "{{.Asset}}"},
		{"busybox", "sh", "-c", `scan "$1"`, "sh", "{{.Asset}}"},
		{"su", "scanner", "-s", "/bin/sh", "-c", `scan "$1"`, "sh", "{{.Asset}}"},
		{"bash", "/usr/local/bin/scan.sh", "-c", "{{.Asset}}"},
		{"sudo", "python3", "-u", "/usr/local/bin/scan.py", "-r", "{{.Asset}}"},
		{"python3", "-m", "pip_audit", "-r", "/srv/{{.Asset}}/requirements.txt"},
		{"ssh", "-o", "BatchMode=yes", "-p", "22", "--", "root@{{.Asset}}", "trivy rootfs --format json /"},
		{"find", "/srv/{{.Asset}}", "-name", "pom.xml", "-exec", "scan", "{}", "+"},
	} {
		if _, err := newCommand(argv); err != nil {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

func TestAnAssetDoesNotLeadOutOfTheFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, asset, want string }{
		{"/r/{{.Asset}}.json", "web-01", "/r/web-01.json"},
		{"/r/{{.Task}}/{{.Asset}}", "a b", "/r/w48/a b"},
		{"../r/{{.Asset}}.json", "web-01", "../r/web-01.json"},
		{"/r/{{.Asset}}.json", "a..b", "/r/a..b.json"},
		{"/r/{{.Asset}}.json", "../etc/x", ""},
		{"/r/{{.Asset}}.json", "a/b", ""},
		{"/r/{{.Asset}}/x.json", "a/../..", ""},
		{"/r/.{{.Asset}}/x", "..", "/r/.../x"},
		{"/r/{{slice .Asset 0 1}}/x", ".x", ""},
		{"/r/{{.Asset}}{{.Asset}}/x", ".", ""},
	} {
		f, err := newFilePath(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.fill(asset(c.asset)); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %q: %q, %v", c.file, c.asset, got, err)
		}
	}
}
