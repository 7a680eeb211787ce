// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// values is what a template of a command or of a file may name.
type values struct {
	Asset  string
	Task   string
	Ticket string // ASSET/TASK
}

// sample stands for any asset, when a template is tried and when what an asset does to a path or an argument is told.
var sample = values{Asset: "x", Task: "x", Ticket: "x/x"}

var errTemplate = errors.New("is not a template")

// parseTemplate reads a template and tries it on a value.
func parseTemplate(text string, try any) (*template.Template, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(new(strings.Builder), try)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errTemplate, templateError(err))
	}
	return t, nil
}

var (
	templatePlace = regexp.MustCompile(`^template: :\d+(:\d+)?: (executing "" at <[^>]*>: )?`)
	templateType  = regexp.MustCompile(`can't evaluate field (\w+) in type \S+$`)
)

// templateError is the library's error without the template's name, which is empty, and without Go's words.
func templateError(err error) string {
	return templateType.ReplaceAllString(templatePlace.ReplaceAllString(err.Error(), ""), "there is no {{.$1}}")
}

func render(t *template.Template, v any) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, v); err != nil {
		return "", fmt.Errorf("cannot fill a template: %s", templateError(err))
	}
	return b.String(), nil
}

// command is a program with its arguments, each a template of its own, so that an asset with spaces or quotes stays within
// one.
type command struct {
	args  []*template.Template
	plain []string // the same, filled with the sample
	code  bool     // an interpreter runs a script of it, which may take any argument for an option of another program
}

func newCommand(argv []string) (*command, error) {
	c := &command{}
	for i, text := range argv {
		t, err := parseTemplate(text, sample)
		if err != nil {
			return nil, fmt.Errorf("argument %d %w; {{.Asset}}, {{.Task}} and {{.Ticket}} are known", i, err)
		}
		plain, err := render(t, sample)
		if err != nil {
			return nil, err
		}
		if strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("argument %d has a NUL byte", i)
		}
		c.args, c.plain = append(c.args, t), append(c.plain, plain)
	}
	if argv[0] == "" || c.plain[0] != argv[0] {
		return nil, errors.New("must begin with a program's name, not with a template or nothing")
	}
	var err error
	c.code, err = interpreted(argv, c.plain)
	return c, err
}

// fill makes the argument list for an asset. An asset that would be taken for an option is refused; where a script hands it on,
// whatever stands before it.
func (c *command) fill(v values) ([]string, error) {
	if c.code && strings.HasPrefix(v.Asset, "-") {
		return nil, fmt.Errorf("the asset begins with -, and what %s runs could take it for an option", c.plain[0])
	}
	argv := make([]string, len(c.args))
	ended := false // by --: what follows is not an option
	for i, t := range c.args {
		arg, err := render(t, v)
		if err != nil {
			return nil, err
		}
		if !ended && strings.HasPrefix(arg, "-") && !strings.HasPrefix(c.plain[i], "-") {
			return nil, fmt.Errorf("the asset begins with -, and %s would take argument %d for an option: put \"--\" before it in command, if the program knows that",
				c.plain[0], i)
		}
		ended = ended || arg == "--" && c.plain[i] == "--"
		argv[i] = arg
	}
	return argv, nil
}

// pathValues is what a template of a file may name; a ticket's id has a slash.
type pathValues struct{ Asset, Task string }

// filePath is the template of a report's path.
type filePath struct {
	t     *template.Template
	shape string
}

func newFilePath(text string) (*filePath, error) {
	try := pathValues{sample.Asset, sample.Task}
	t, err := parseTemplate(text, try)
	if err != nil {
		return nil, fmt.Errorf("%w; {{.Asset}} and {{.Task}} are known", err)
	}
	plain, err := render(t, try)
	return &filePath{t, shape(plain)}, err
}

// fill makes the path for an asset. An asset that would lead into another folder is refused.
func (f *filePath) fill(v values) (string, error) {
	p, err := render(f.t, pathValues{v.Asset, v.Task})
	if err != nil {
		return "", err
	}
	if shape(p) != f.shape || strings.ContainsRune(p, 0) {
		return "", errors.New("the asset would lead out of the folder of file: it has a / or is a .. there")
	}
	return p, nil
}

// shape is a path with all names alike.
func shape(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if part != "" && part != "." && part != ".." {
			parts[i] = "x"
		}
	}
	return strings.Join(parts, "/")
}
