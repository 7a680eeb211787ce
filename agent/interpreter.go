// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// interpreters read one of their arguments as a program, or as the name of one.
var interpreters = []string{
	"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "rbash", "pwsh", "powershell", "busybox", "su", "runuser", "script",
	"env", "capsh", "flock", "watch", "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "expect", "Rscript",
	"awk", "gawk", "mawk", "nawk", "sed", "groovy", "jshell", "osascript",
}

// rereaders hand all of their arguments to a shell or to another reader of code.
var rereaders = []string{"ssh", "parallel", "make", "eval", "expr", "find"}

// wrappers run another command, which is among their arguments.
var wrappers = []string{
	"timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "sudo", "doas", "chroot", "unshare", "nsenter", "ip", "time", "taskset", "chrt",
	"systemd-run", "docker", "podman", "nerdctl", "kubectl", "xargs", "firejail", "bwrap", "strace", "ltrace", "unbuffer", "prlimit", "setpriv", "tini",
	"dumb-init", "picket", "torsocks", "proxychains", "proxychains4", "env", "flock", "su", "runuser", "script", "busybox", "capsh", "watch", "find",
}

var version = regexp.MustCompile(`[0-9.]+$`)

// isOne says whether a program is one of these, whatever its folder and version: /usr/bin/python3.12 is python.
func isOne(of []string, program string) bool {
	name := path.Base(program)
	return slices.Contains(of, name) || slices.Contains(of, version.ReplaceAllString(name, ""))
}

// codeOption is an option behind which code stands, alone or in a cluster: -c, -ceu, -e, -pe, -r, --command.
var codeOption = regexp.MustCompile(`^[-+][A-Za-z]*[cCeErRpSB]|^--(command|eval|print|exec|split-string|code)\b`)

// valueOption is an option of a shell that takes the argument behind it: -o pipefail, also in a cluster.
var valueOption = regexp.MustCompile(`^[-+][A-Za-z]*[oO]$`)

// interpreted says what is wrong with a command of which an interpreter would read an argument that holds a template: what
// stands in an asset would be code. code is true when it runs code of its own at all. plain is argv, filled with a sample.
func interpreted(argv, plain []string) (code bool, err error) {
	wrapped := isOne(wrappers, argv[0])
	for i, program := range argv {
		known := i == 0 || wrapped
		if known && isOne(rereaders, program) {
			code, err = true, templated(argv, plain, program, i+1, len(argv))
		}
		if err != nil || !isOne(interpreters, program) {
			continue
		}
		// Its options, and the first argument that is none: the code, or the file that has it.
		if known && path.Base(program) != "env" && path.Base(program) != "flock" {
			code, err = true, templated(argv, plain, program, i+1, codeEnd(argv, i+1))
		}
		for n := i + 1; n < len(argv) && err == nil; n++ {
			if codeOption.MatchString(argv[n]) && (known || n == i+1) {
				code, err = true, templated(argv, plain, program, n, codeEnd(argv, n+1))
			}
		}
		if err != nil {
			break
		}
	}
	return code, err
}

// codeEnd is behind the first argument from there that is no option.
func codeEnd(argv []string, from int) int {
	for n := from; n < len(argv); n++ {
		switch {
		case valueOption.MatchString(argv[n]):
			n++
		case !strings.HasPrefix(argv[n], "-") && !strings.HasPrefix(argv[n], "+"):
			return n + 1
		}
	}
	return len(argv)
}

// templated says which of the arguments holds a template.
func templated(argv, plain []string, program string, from, to int) error {
	for n := from; n < min(to, len(argv)); n++ {
		if argv[n] != plain[n] {
			return fmt.Errorf(`argument %d holds a template, and %s would read it as code, whatever an asset is named: let the code read "$PICKET_ASSET", or "$1" as in ["sh", "-c", "scan -- \"$1\"", "sh", "{{.Asset}}"]`,
				n, path.Base(program))
		}
	}
	return nil
}
