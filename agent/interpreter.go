// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
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

// ofFiles are those that read code from a file where no option has it, and leave what stands behind the file to it.
var ofFiles = []string{
	"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh", "rbash", "python", "pypy", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "tclsh", "Rscript",
}

// rereaders hand all of their arguments to a shell or to another reader of code; ssh not the first one, which is a machine.
var rereaders = []string{"ssh", "autossh", "parallel", "sem", "make", "eval", "expr"}

// wrappers run another command, which is among their arguments.
var wrappers = []string{
	"timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "sudo", "doas", "chroot", "unshare", "nsenter", "ip", "time", "taskset", "chrt",
	"systemd-run", "docker", "podman", "nerdctl", "kubectl", "xargs", "firejail", "bwrap", "strace", "ltrace", "unbuffer", "prlimit", "setpriv", "tini",
	"dumb-init", "picket", "sshpass", "torsocks", "proxychains", "proxychains4", "env", "flock", "su", "runuser", "script", "busybox", "capsh", "watch", "find",
}

var version = regexp.MustCompile(`[0-9.]+$`)

// isOne says whether a program is one of these, whatever its folder and version: /usr/bin/python3.12 is python.
func isOne(of []string, program string) bool {
	name := path.Base(program)
	return slices.Contains(of, name) || slices.Contains(of, version.ReplaceAllString(name, ""))
}

// codeOption is an option behind which code stands, alone or in a cluster: -c, -ceu, -e, -pe, -r, --command.
var codeOption = regexp.MustCompile(`^[-+][A-Za-z]*[cCeErRpSB]|^--(command|eval|print|exec|split-string|code)\b`)

// Options that take the argument behind them: -o pipefail of a shell, also in a cluster; -F and -v of awk; many of ssh.
var (
	valueOption = regexp.MustCompile(`^[-+][A-Za-z]*[oO]$`)
	awkOption   = regexp.MustCompile(`^-[Fv]$`)
	sshOption   = regexp.MustCompile(`^-[46AaCfGgKkMNnqsTtVvXxYy]*[bBcDeEFIiJLlmOopQRSWw]$`)
)

// flagOption are options that take none, in any of ofFiles. A module of Python is like a file.
var flagOption = regexp.MustCompile(`^[-+][abhikmnqsuvwxNPUV]+$`)

// interpreted says what is wrong with a command of which an interpreter would read an argument that holds a template: what
// stands in an asset would be code. code is true when it runs code of its own at all. plain is argv, filled with a sample.
func interpreted(argv, plain []string) (code bool, err error) {
	wrapped := isOne(wrappers, argv[0])
	dollar0 := -1 // the argument behind code, which only names it: sh in sh -c CODE sh ARGUMENT
	for i, program := range argv {
		known := i == 0 || wrapped
		if known && isOne(rereaders, program) {
			first := machineAt(argv, i+1, program)
			code, err = true, cmp.Or(templated(argv, plain, program, i+1, first), templated(argv, plain, program, first+1, len(argv)))
		}
		if err != nil || i == dollar0 || !isOne(interpreters, program) {
			continue
		}
		// Its options, and the first argument that is none: the code, or the file that has it.
		if known && path.Base(program) != "env" && path.Base(program) != "flock" {
			code, err = true, templated(argv, plain, program, i+1, codeEnd(argv, i+1, program))
		}
		end := len(argv)
		if isOne(ofFiles, program) && !isOption(program) && (i == 0 || !isOption(argv[i-1])) {
			end = fileAt(argv, i+1)
		}
		for n := i + 1; n < end && err == nil; n++ {
			if codeOption.MatchString(argv[n]) && (known || n == i+1) {
				dollar0 = codeEnd(argv, n+1, program)
				code, err = true, templated(argv, plain, program, n, dollar0)
			}
		}
		if err != nil {
			break
		}
	}
	return code, err
}

func isOption(arg string) bool { return strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+") }

// codeEnd is behind the first argument from there that is no option.
func codeEnd(argv []string, from int, program string) int {
	awk := strings.HasSuffix(path.Base(program), "awk")
	for n := from; n < len(argv); n++ {
		switch {
		case valueOption.MatchString(argv[n]), awk && awkOption.MatchString(argv[n]):
			n++
		case !isOption(argv[n]):
			return n + 1
		}
	}
	return len(argv)
}

// fileAt is where the file stands that an interpreter runs: the first argument that is no option and cannot be the value of one.
func fileAt(argv []string, from int) int {
	for n := from; n < len(argv); n++ {
		if !isOption(argv[n]) && (n == from || flagOption.MatchString(argv[n-1])) {
			return n
		}
	}
	return len(argv)
}

// machineAt is where the machine stands to which ssh goes; for any other program, the end.
func machineAt(argv []string, from int, program string) int {
	if path.Base(program) != "ssh" {
		return len(argv)
	}
	for n := from; n < len(argv); n++ {
		switch {
		case sshOption.MatchString(argv[n]):
			n++
		case !isOption(argv[n]):
			return n
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
