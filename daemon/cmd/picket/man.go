// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// manCommand writes the manual, from what --help says and from the comments of the example configurations.
func manCommand() *cli.Command {
	return &cli.Command{
		Name:      "man",
		Hidden:    true,
		Usage:     "write a page of the manual; those of section 5 are made of an example configuration on standard input",
		ArgsUsage: "picket.1|picketd.8|NAME.toml.5",
		Action: func(c *cli.Context) error {
			args := arguments(c)
			p := page{w: c.App.Writer}
			switch {
			case args[0] == "picket.1":
				p.command(newApp())
			case args[0] == "picketd.8":
				p.daemon(newApp())
			case strings.HasSuffix(args[0], ".toml.5"):
				doc, err := io.ReadAll(c.App.Reader)
				if err != nil {
					return fmt.Errorf("cannot read the configuration: %w", err)
				}
				p.config(strings.TrimSuffix(args[0], ".5"), string(doc))
			default:
				return usagef(c, "there is no page %q", args[0])
			}
			return p.err
		},
	}
}

// page writes roff. After an error it writes no more.
type page struct {
	w   io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// roff is text that roff prints as it is.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "").Replace(s)
}

func (p *page) title(name, section, about string) {
	p.line(`.TH "%s" "%s" "" "Picket %s" "Picket"`, strings.ToUpper(roff(name)), section, roff(buildVersion()))
	p.line(".SH NAME\n%s \\- %s", roff(name), roff(about))
}

// text writes paragraphs. A line that begins with a blank or a dot would be a request to roff.
func (p *page) text(s string) {
	for i, paragraph := range strings.Split(s, "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		for l := range strings.SplitSeq(paragraph, "\n") {
			p.line(`\&%s`, roff(strings.TrimSpace(l)))
		}
	}
}

// sentence makes what --help says of a thing a sentence.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func (p *page) options(flags []cli.Flag) {
	for _, f := range flags {
		d := f.(cli.DocGenerationFlag)
		usage, value := d.GetUsage(), ""
		if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 && d.TakesValue() {
			value = " " + parts[1]
		}
		var names []string
		for _, name := range f.Names() {
			names = append(names, `\fB`+roff(flagText(name))+`\fR`)
		}
		p.line(".TP\n%s\\fI%s\\fR", strings.Join(names, ", "), roff(value))
		if def := d.GetDefaultText(); def != "" && d.TakesValue() && def != `""` {
			usage += "; default: " + strings.Trim(def, `"`)
		}
		if env := d.GetEnvVars(); len(env) > 0 {
			usage += "; otherwise $" + env[0]
		}
		p.text(sentence(usage))
	}
}

// commands writes all commands, those of groups by their whole names.
func (p *page) commands(path string, list []*cli.Command) {
	for _, c := range list {
		switch {
		case c.Hidden:
		case len(c.Subcommands) > 0:
			p.commands(path+" "+c.Name, c.Subcommands)
		default:
			p.line(".SS \"%s\"", strings.TrimSpace(roff(path+" "+c.Name+" "+c.ArgsUsage)))
			p.text(sentence(c.Usage))
			if c.Description != "" {
				p.line(".PP")
				p.text(c.Description)
			}
			p.options(c.Flags)
		}
	}
}

func (p *page) command(app *cli.App) {
	p.title(app.Name, "1", app.Usage)
	p.line(".SH SYNOPSIS\n.B picket\n.I COMMAND\n.RI [ options ]\n.RI [ arguments ]")
	p.line(".SH DESCRIPTION")
	p.text(manualAbout)
	p.line(".SH COMMANDS")
	p.commands(app.Name, app.Commands)
	p.line(".SH EXIT STATUS")
	for _, e := range manualExits {
		p.line(".TP\n.B %s", roff(e[0]))
		p.text(e[1])
	}
	p.line(".SH SEE ALSO\n.BR picketd (8),\n.BR picket.toml (5),\n.BR agent.toml (5)")
}

func (p *page) daemon(app *cli.App) {
	p.title("picketd", "8", "the daemon of Picket on this host")
	p.line(".SH SYNOPSIS\n.B picket daemon\n.RI [ options ]")
	p.line(".SH DESCRIPTION")
	p.text(manualDaemon)
	p.line(".SH OPTIONS")
	p.options(findCommand(app.Commands, "daemon").Flags)
	for _, section := range manualDaemonSections {
		p.line(".SH %s", section.title)
		for _, item := range section.items {
			p.line(".TP\n.B %s", roff(item[0]))
			p.text(item[1])
		}
	}
	p.line(".SH SEE ALSO\n.BR picket (1),\n.BR picket.toml (5),\n.BR systemctl (1)")
}

// In an example configuration, "#key = " shows a default, "# key = " an example, "key = " what has no default, and what stands
// above is about the first key below it.
var (
	configKey   = regexp.MustCompile(`^(# ?)?([a-z_]+) = (.*)$`)
	configTable = regexp.MustCompile(`^(?:# )?(\[\[?[a-z_.]+\]\]?)$`)
)

func (p *page) config(name, doc string) {
	p.title(name, "5", "configuration of Picket")
	p.line(".SH DESCRIPTION")
	var about []string
	flush := func() {
		if len(about) > 0 {
			p.text(strings.Join(about, "\n"))
		}
		about = nil
	}
	for l := range strings.Lines(doc) {
		l = strings.TrimSuffix(l, "\n")
		if m := configTable.FindStringSubmatch(l); m != nil {
			above := about // of [[channel]]: what the table is
			about = nil
			p.line(".SH \"%s\"", roff(m[1]))
			about = above
			flush()
		} else if m := configKey.FindStringSubmatch(l); m != nil {
			p.line(".TP\n.B %s", roff(m[2]))
			flush()
			if m[1] == "#" {
				p.line(`Default: %s`, roff(m[3]))
			} else {
				p.line(`For example: %s`, roff(m[3]))
			}
		} else if text, ok := strings.CutPrefix(l, "#"); ok {
			about = append(about, strings.TrimSpace(text))
		} else if l == "" {
			flush()
		}
	}
	flush()
	p.line(".SH SEE ALSO\n.BR picket (1),\n.BR picketd (8)")
}
