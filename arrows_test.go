// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package picket_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestFilesUseEachOtherOneWay: within a folder the files can be put into an order in which fewer than one in ten of the arrows between
// them run back up. An arrow leads from a file to each one whose declarations it uses.
func TestFilesUseEachOtherOneWay(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	folders := map[string][]string{}
	for _, f := range goFiles(t) {
		if !f.test {
			folders[f.pkg] = append(folders[f.pkg], f.path)
		}
	}
	for folder, files := range folders {
		arrows := arrowsBetween(t, files, exports)
		all := 0
		for _, to := range arrows {
			all += len(to)
		}
		if back := runningBack(arrows); 10*len(back) >= all && len(back) > 0 {
			t.Errorf("%s: %d of %d arrows between files run back up: %s", folder, len(back), all, strings.Join(back, ", "))
		}
	}
}

// arrowsBetween are the arrows of a folder, by the file that they leave.
func arrowsBetween(t *testing.T, files []string, exports map[string]string) map[string]map[string]bool {
	t.Helper()
	fset, parsed := token.NewFileSet(), []*ast.File{}
	for _, f := range files {
		file, err := parser.ParseFile(fset, f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	open := func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", open), FakeImportC: true}
	pkg, err := config.Check(path.Dir(files[0]), fset, parsed, info)
	if err != nil {
		t.Fatal(err)
	}
	arrows := map[string]map[string]bool{}
	for _, f := range files {
		arrows[path.Base(f)] = map[string]bool{}
	}
	for id, used := range info.Uses {
		from, to := path.Base(fset.Position(id.Pos()).Filename), path.Base(fset.Position(used.Pos()).Filename)
		if used.Pkg() == pkg && from != to {
			arrows[from][to] = true
		}
	}
	return arrows
}

// runningBack are the arrows against an order of the files that has few: each file is moved to where fewest run back until none can be
// moved to a better place.
func runningBack(arrows map[string]map[string]bool) (back []string) {
	order := slices.SortedFunc(maps.Keys(arrows), func(a, b string) int {
		if n := len(arrows[b]) - len(arrows[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	for improved := true; improved; {
		improved = false
		for _, file := range slices.Clone(order) {
			rest := slices.DeleteFunc(slices.Clone(order), func(f string) bool { return f == file })
			was := slices.Index(order, file)
			// cost is how many of the file's arrows run back when it stands first, then at each place after that.
			cost := 0
			for _, other := range rest {
				if arrows[other][file] {
					cost++
				}
			}
			costs := []int{cost}
			for _, other := range rest {
				if arrows[other][file] {
					cost--
				}
				if arrows[file][other] {
					cost++
				}
				costs = append(costs, cost)
			}
			if best := slices.Index(costs, slices.Min(costs)); costs[best] < costs[was] {
				order, improved = slices.Insert(rest, best, file), true
			}
		}
	}
	for i, file := range order {
		for _, above := range order[:i] {
			if arrows[file][above] {
				back = append(back, file+" to "+above)
			}
		}
	}
	return back
}
