// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package picket_test

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/picketd/picket"

// arrows says which packages of this module each one may import: the data goes that way. A package that is not here is
// refused, so that a new one is given its place on purpose.
var arrows = map[string][]string{
	"agent/again":            {},
	"agent/plain":            {},
	"agent/strict":           {"agent/plain"},
	"agent/supervise":        {"agent/plain"},
	"agent/findings":         {"agent/strict", "agent/plain"},
	"audit":                  {"agent/plain"},
	"engine":                 {"agent/again", "agent/plain", "audit", "engine/delivery", "engine/lookout", "engine/process", "engine/store", "outbox"},
	"engine/delivery":        {"agent/again", "agent/plain", "audit", "engine/store", "outbox"},
	"engine/lookout":         {"engine/store", "outbox"}, // of the outbox only that it is not to be used
	"engine/process":         {},
	"engine/store":           {"agent/again", "agent/assets", "agent/plain", "audit", "outbox"}, // of assets how they are named; of the outbox the statuses, and what is asked and told about attempts
	"engine/redistest":       {},
	"outbox":                 {},
	"notifier":               {"agent/again", "agent/plain", "agent/strict", "notifier/channel", "outbox"},
	"notifier/channel":       {"agent/plain", "agent/strict", "agent/supervise", "outbox"},
	"sockapi":                {"agent/again", "agent/strict", "audit", "engine", "engine/delivery", "engine/process", "engine/store", "outbox", "sockapi/client"}, // of strict, which word may have been meant
	"sockapi/client":         {"agent/plain"},
	"agent/accept":           {"agent/assets", "agent/findings", "agent/plain", "agent/strict", "agent/verdict"}, // of verdict what is recorded of it
	"agent/assets":           {"agent/plain"},
	"agent/lease":            {"engine/process", "sockapi/client"},
	"agent/lines":            {"agent/plain"},
	"agent/verdict":          {"agent/findings", "agent/plain", "sockapi/client"},
	"agent/report":           {"agent/findings", "agent/plain", "agent/verdict", "sockapi/client"}, // of client the tickets and their words
	"agent/reach":            {"agent/lease", "agent/plain", "agent/verdict", "engine/process", "sockapi/client"},
	"agent":                  {"agent/accept", "agent/again", "agent/assets", "agent/findings", "agent/lease", "agent/plain", "agent/reach", "agent/report", "agent/strict", "agent/supervise", "agent/verdict", "engine/process", "sockapi/client"},
	"daemon":                 {"agent/again", "agent/plain", "agent/strict", "audit", "engine", "engine/delivery", "engine/lookout", "engine/process", "engine/store", "notifier", "notifier/channel", "outbox", "sockapi", "sockapi/client"},
	"daemon/doctor":          {"agent/plain", "daemon", "sockapi/client"},
	"daemon/bench":           {"daemon", "engine", "engine/delivery", "engine/store", "outbox", "sockapi/client", "ui"}, // engines alone stand for a fleet; of store the scripts
	"daemon/cmd/picket":      {"agent", "agent/assets", "agent/lease", "agent/lines", "agent/plain", "agent/report", "agent/supervise", "agent/verdict", "audit", "daemon", "daemon/doctor", "engine/process", "sockapi/client", "ui"},
	"daemon/cmd/picket-demo": {"sockapi/client"},
	"examples/agent-go":      {"sockapi/client"},
	"examples/agent-small":   {"sockapi/client"},
	"examples/receiver-go":   {},
	"packaging":              {},
	"ui":                     {"agent/plain", "agent/verdict", "sockapi/client"}, // of verdict why a ticket stands where it stands
	"proof":                  {"proof/check", "proof/draw", "proof/history", "proof/load", "proof/mutate", "proof/nemesis", "proof/stage"},
	"proof/check":            {"proof/history"}, // it shares no code with what it judges
	"proof/draw":             {"proof/check", "proof/history"},
	"proof/history":          {},
	"proof/load":             {"proof/history", "proof/stage"},
	"proof/mutate":           {},
	"proof/nemesis":          {"proof/history", "proof/load", "proof/stage"},
	"proof/stage":            {"proof/history"},
	"proof/models/claim":     {"proof/models/explore"},
	"proof/models/delivery":  {"proof/models/explore"},
	"proof/models/end":       {"proof/models/explore"},
	"proof/models/explore":   {},
	"proof/models/list":      {"proof/models/explore"},
	"proof/models/retry":     {"proof/models/explore"},
	"proof/models/sign":      {"proof/models/explore"},
	"proof/soak":             {"sockapi/client"},
	"proof/models/takeover":  {"proof/models/explore"},
}

// onlyIn says where a library may be imported, so that what it is good for stays behind one door. Tests are free.
var onlyIn = map[string][]string{
	"github.com/alicebob/miniredis":        {"daemon"},                                                                              // picket dev
	"github.com/anishathalye/porcupine":    {"proof/check"},                                                                         // tickets as registers
	"github.com/danielgtaylor/huma":        {"sockapi"},                                                                             // the API's form
	"github.com/go-json-experiment/json":   {"sockapi", "agent/accept"},                                                             // the pass over raw bodies; OpenVEX
	"github.com/package-url/packageurl-go": {"agent/accept"},                                                                        // products of OpenVEX
	"github.com/go-redsync/redsync":        {"engine", "daemon/bench"},                                                              // the lock, and its floor
	"github.com/pandatix/go-cvss":          {"agent/findings"},                                                                      // scores from vectors
	"github.com/expr-lang/expr":            {"agent/verdict"},                                                                       // the conditions
	"github.com/pelletier/go-toml":         {"daemon", "agent/strict"},                                                              // the configuration
	"github.com/redis/go-redis":            {"daemon", "engine", "engine/redistest", "engine/store", "daemon/bench", "proof/stage"}, // engine takes the client for its locks
	"github.com/urfave/cli":                {"daemon/cmd/picket"},                                                                   // the command
	"github.com/wneessen/go-mail":          {"notifier/channel"},                                                                    // mail
	"go.etcd.io/bbolt":                     {"engine", "outbox", "daemon/bench"},                                                    // the journal of claims, the intents, and their floor
}

// standardOnly says which packages others link into programs of their own, and those that these import: the standard library is
// all that they need.
var standardOnly = []string{"agent/plain", "sockapi/client"}

type goFile struct {
	path    string
	pkg     string // its folder
	imports []string
	comment string // the package's
	test    bool
}

// files are the repository's: those that git knows or would add, or all when there is no git.
func files(t *testing.T) []string {
	t.Helper()
	var paths []string
	if out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output(); err == nil {
		paths = strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	} else {
		err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "dist"}, p) {
				return fs.SkipDir
			}
			if err == nil && d.Type().IsRegular() {
				paths = append(paths, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Lstat(p)
		return errors.Is(err, fs.ErrNotExist)
	})
	if !slices.Contains(paths, "go.mod") {
		t.Fatal("cannot find the repository's files")
	}
	return paths
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var all []goFile
	for _, p := range files(t) {
		if path.Ext(p) != ".go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		f := goFile{path: p, pkg: path.Dir(p), comment: parsed.Doc.Text(), test: strings.HasSuffix(p, "_test.go")}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			f.imports = append(f.imports, name)
		}
		all = append(all, f)
	}
	return all
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		allowed, known := arrows[f.pkg]
		if !known && f.pkg != "." {
			t.Errorf("%s: package %s has no place among the arrows in repo_test.go", f.path, f.pkg)
			continue
		}
		if f.test {
			allowed = slices.Concat(allowed, []string{"audit", "engine/process", "engine/redistest", f.pkg}) // itself from pkg_test
		}
		for _, name := range f.imports {
			inner, ours := strings.CutPrefix(name, module+"/")
			if ours && !slices.Contains(allowed, inner) {
				t.Errorf("%s: %s must not import %s", f.path, f.pkg, inner)
			}
		}
	}
}

func TestCommandKnowsTheDaemonInOneFile(t *testing.T) {
	t.Parallel()
	var importing []string
	for _, f := range goFiles(t) {
		if f.pkg == "daemon/cmd/picket" && !f.test && slices.Contains(f.imports, module+"/daemon") {
			importing = append(importing, f.path)
		}
	}
	if len(importing) != 1 {
		t.Errorf("package daemon is imported by %v, should be by one file of the command", importing)
	}
}

func TestLibrariesStayBehindTheirDoors(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.test || f.pkg == "." {
			continue
		}
		for _, name := range f.imports {
			for library, doors := range onlyIn {
				if (name == library || strings.HasPrefix(name, library+"/")) && !slices.Contains(doors, f.pkg) {
					t.Errorf("%s: %s may be imported in %v only", f.path, library, doors)
				}
			}
			leaf := slices.Contains(standardOnly, strings.TrimPrefix(name, module+"/"))
			if slices.Contains(standardOnly, f.pkg) && !leaf && strings.Contains(strings.Split(name, "/")[0], ".") {
				t.Errorf("%s: %s imports the standard library only, not %s", f.path, f.pkg, name)
			}
		}
	}
}

func TestPackagesHaveAComment(t *testing.T) {
	t.Parallel()
	comments := map[string]string{}
	for _, f := range goFiles(t) {
		if !f.test && f.pkg != "." { // which holds nothing but tests
			comments[f.pkg] += f.comment
		}
	}
	for pkg, comment := range comments {
		if comment == "" {
			t.Errorf("package %s has no comment", pkg)
		}
	}
}

func TestFilesCarryTheLicence(t *testing.T) {
	t.Parallel()
	for _, p := range files(t) {
		mark := map[string]string{".go": "//", ".lua": "--"}[path.Ext(p)]
		if mark == "" {
			continue
		}
		header := mark + " SPDX-License-Identifier: Apache-2.0\n" + mark + " Copyright The Picket Authors\n"
		if !bytes.HasPrefix(read(t, p), []byte(header)) {
			t.Errorf("%s: must begin with\n%s", p, header)
		}
	}
	licence := string(read(t, "LICENSE"))
	if !strings.HasPrefix(strings.Join(strings.Fields(licence), " "), "Apache License Version 2.0, January 2004") ||
		!strings.Contains(licence, "END OF TERMS AND CONDITIONS") {
		t.Error("LICENSE must hold the whole Apache License 2.0")
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	const most = 400 // lines
	for _, p := range files(t) {
		if strings.HasSuffix(p, "_test.go") || !slices.Contains([]string{".go", ".lua"}, path.Ext(p)) {
			continue
		}
		if n := bytes.Count(read(t, p), []byte("\n")); n > most {
			t.Errorf("%s: has %d lines, should be split before %d", p, n, most)
		}
	}
}

// Paths of the machine on which something was written, and what a compiler left, say nothing to anybody else. Pictures are
// no text, and small.
func TestFilesAreTextAndKnowNoMachine(t *testing.T) {
	t.Parallel()
	machine := regexp.MustCompile(`(^|[^\w.~-])/(` + `work|farm)\b`)
	for _, p := range files(t) {
		b := read(t, p)
		if slices.Contains([]string{".png", ".webp"}, path.Ext(p)) && len(b) <= 100<<10 {
			continue
		}
		if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
			t.Errorf("%s: is not text", p)
			continue
		}
		for i, line := range bytes.Split(b, []byte("\n")) {
			if machine.Match(line) {
				t.Errorf("%s:%d: names a path of the machine where it was written", p, i+1)
			}
		}
	}
}

// TestPagesShowTheExamples: what the page on agents shows is what the tests run.
func TestPagesShowTheExamples(t *testing.T) {
	t.Parallel()
	page := string(read(t, "docs/agents.md"))
	for file, from := range map[string]string{
		"examples/agent.sh": "set -eu", "examples/agent-curl.sh": "set -eu", "examples/agent-small/main.go": "func scan(",
	} {
		code := string(read(t, file))
		if block := code[strings.Index(code, from):] + "```"; !strings.Contains(page, block) {
			t.Errorf("docs/agents.md does not show %s from %q on as it is", file, from)
		}
	}
}

// TestReadmesSayTheSame: each in its language, with the same headings in number and the same commands.
func TestReadmesSayTheSame(t *testing.T) {
	t.Parallel()
	shape := func(file string) (headings int, commands []string) {
		for line := range strings.Lines(string(read(t, file))) {
			if strings.HasPrefix(line, "## ") {
				headings++
			}
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				command, _, _ = strings.Cut(command, "  ")
				commands = append(commands, strings.TrimSpace(command))
			}
		}
		return headings, commands
	}
	n, english := shape("README.md")
	m, chinese := shape("README.zh-CN.md")
	if n != m || !slices.Equal(english, chinese) {
		t.Errorf("README.md has %d headings and %q\nREADME.zh-CN.md has %d and %q", n, english, m, chinese)
	}
}
