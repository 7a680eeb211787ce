// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
)

// load reads a configuration from a file with that text.
func load(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(path)
	if err != nil {
		err = strict.Error{strings.ReplaceAll(err.Error(), path, "agent.toml")}
	}
	return c, err
}

func TestEverySectionButVulnHasDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(t, "[step.vuln]\ncommand = [\"grype\", \"{{.Asset}}\"]\nparse = \"grype\"\n")
	want := DefaultConfig()
	want.Step.Vuln.Command, want.Step.Vuln.Parse = []string{"grype", "{{.Asset}}"}, "grype"
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("it is %+v, %v, want %+v", c, err, want)
	}
	c, err = load(t, "step = { vuln = { file = \"/r/{{.Asset}}\" } }\nnotification.repeat = \"1d12h\"")
	if got := time.Duration(c.Notification.Repeat); err != nil || got != 36*time.Hour {
		t.Errorf("1d12h is %s, %v", got, err)
	}
}

// TestTheConfigurationIsStrict: each is one line that names the key and says what would be right.
func TestTheConfigurationIsStrict(t *testing.T) {
	t.Parallel()
	const vuln = "[step.vuln]\ncommand = [\"x\"]\n"
	for text, want := range map[string]string{
		"":                                                    "agent.toml: step.vuln: needs command, such as ",
		"[step.vuln]\ncomand = [\"x\"]":                       "agent.toml:2: step.vuln.comand: is not known: did you mean command?",
		"[step.vuln]\ncommand = \"x\"":                        "agent.toml:2: step.vuln.command: must be a list of strings",
		"[step.vuln]\ncommand = []":                           "agent.toml:2: step.vuln.command: is empty: write a program",
		"[[step.vuln]]\ncommand = [\"x\"]":                    "agent.toml:1: step.vuln: stands only once: write [step.vuln]",
		"[step.vuln]\ncommand = [\"{{.Asset}}\"]":             "agent.toml:2: step.vuln.command: must begin with a program's name",
		"[step.vuln]\ncommand = [\"x\", \"{{.Host}}\"]":       "agent.toml:2: step.vuln.command: argument 1 is not a template: there is no {{.Host}}; {{.Asset}}, {{.Task}} and {{.Ticket}} are known",
		"[step.vuln]\ncommand = [\"x\", \"{{.Asset\"]":        "agent.toml:2: step.vuln.command: argument 1 is not a template: unclosed action",
		"[step.vuln]\nfile = \"/r/{{.Ticket}}\"":              "agent.toml:2: step.vuln.file: is not a template: there is no {{.Ticket}}; {{.Asset}} and {{.Task}} are known",
		"[step.vuln]\nfile = \"/r/{{.Task}}\"":                "agent.toml:2: step.vuln.file: has no {{.Asset}}: every asset would have the same report",
		vuln + "max_age = \"1h\"":                             "agent.toml:3: step.vuln.max_age: says nothing beside command",
		vuln + "[step.online]\ntimeout = \"100ms\"":           "agent.toml:4: step.online.timeout: is 100ms: a machine that is there may need 1s",
		vuln + "file = \"/r\"":                                "agent.toml:3: step.vuln.file: says nothing beside command",
		vuln + "parse = \"Nuclei\"":                           "agent.toml:3: step.vuln.parse: is not known: did you mean nuclei?",
		vuln + "ok_exit = [0, 256]":                           "agent.toml:3: step.vuln.ok_exit: 256 is no exit code",
		vuln + "ok_exit = [\"0\"]":                            "agent.toml:3: step.vuln.ok_exit: must be a list of whole numbers",
		vuln + "ok_exit = []":                                 "agent.toml:3: step.vuln.ok_exit: is empty",
		vuln + "timeout = 30":                                 `agent.toml:3: step.vuln.timeout: has no unit: write "30s" for seconds`,
		vuln + "timeout = \"5 minutes\"":                      "agent.toml:3: step.vuln.timeout: is not a duration",
		vuln + "retries = -1":                                 "agent.toml:3: step.vuln.retries: is -1: write 0 to 100",
		vuln + "Timeout = \"5s\"":                             "agent.toml:3: step.vuln.Timeout: is not known: did you mean timeout?",
		vuln + "[step.online]\ntcp = [0]":                     "agent.toml:4: step.online.tcp: 0 is no port",
		vuln + "[step.online]\ntcp = []":                      "agent.toml:4: step.online.tcp: has no port, and icmp is not on",
		vuln + "[step.online]\ntcp = [1]\ncommand = [\"x\"]":  "agent.toml:4: step.online.tcp: says nothing beside command",
		vuln + "[step.online]\nok_exit = [0]":                 "agent.toml:4: step.online.ok_exit: says nothing without command",
		vuln + "[step.online]\nrefused = \"no\"":              `agent.toml:4: step.online.refused: must be "offline" or "online"`,
		vuln + "[step.intel]\nwhen = \"max_cvss > 1\"":        "agent.toml:4: step.intel.when: says nothing without kev, epss or command",
		vuln + "[step.intel]\nkev = \"k\"\nwhen = \"kev\"":    "agent.toml:5: step.intel.when: is not a condition (unknown name kev at character 1)",
		vuln + "[step.intel]\nkev = \"k\"\ncommand = [\"x\"]": "agent.toml:4: step.intel.kev: says nothing beside command",
		vuln + "[step.assess]\nhigh_risk = \"max_cvss\"":      "agent.toml:4: step.assess.high_risk: is not a condition (expected bool, but got float64)",
		vuln + "[step.assess]\nhigh_risk = \"kev ||\"":        "agent.toml:4: step.assess.high_risk: is not a condition (unexpected token EOF",
		vuln + "[step.assess]\nhigh_risk = \"\"":              "agent.toml:4: step.assess.high_risk: is not a condition",
		vuln + "[step.other]\n":                               "agent.toml:3: step.other: is not known",
		vuln + "[notification]\nseverity = \"Critical\"":      "agent.toml:4: notification.severity: must be one of info, low, medium, high, critical",
		vuln + "[notification]\ntext = \"{{.Nothing}}\"":      "agent.toml:4: notification.text: is not a template: there is no {{.Nothing}}",
		vuln + "[notification]\ntext = \" \"":                 "agent.toml:4: notification.text: is empty: write a template",
		vuln + "[notification]\ntitle = \"\"":                 "agent.toml:4: notification.title: is empty: write a template",
		vuln + "[notification]\nrepeat = \"-1d\"":             "agent.toml:4: notification.repeat: ",
		vuln + "flow = \"x\"":                                 "agent.toml:3: step.vuln.flow: is not known",
		vuln + "[notification]\neach = \"some\"":              `agent.toml:4: notification.each: must be "all", "critical" or "none"`,
		vuln + "[report]\nname = \"a b\"":                     `agent.toml:4: report.name: "a b" must have 1 to 64 of A-Z a-z 0-9 . _ -`,
		vuln + "[report]\nafter = \"-1s\"":                    `agent.toml:4: report.after: `,
		vuln + "[report]\nafter = \"31d\"":                    `agent.toml:4: report.after: is 744h: write 0 to 30d`,
		vuln + "[report]\nwhen = \"never\"":                   `agent.toml:4: report.when: must be "always" or "changes"`,
		vuln + "[report]\nchannels = [\"a\", \"a\"]":          `agent.toml:4: report.channels: names "a" twice`,
		"flow = \"x\"\n" + vuln:                               `agent.toml:1: flow: is not known: the only flow is "asset-inference"`,
		"flow = ":                                             "agent.toml:1: ",
	} {
		_, err := load(t, text)
		if !errors.Is(err, ErrConfig) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
	_, err := LoadConfig(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, ErrConfig) {
		t.Errorf("without a file: %v", err)
	}
}

func TestLoadConfigAsksTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.toml")
	t.Setenv("PICKET_AGENT_CONFIG", path)
	if _, err := LoadConfig(""); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("it says %v", err)
	}
}

// TestTheExampleIsTheDefaults: in it, what is the default stands behind a bare #, and what is only an example behind "# ".
func TestTheExampleIsTheDefaults(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../packaging/agent.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.Step.Vuln.Command, want.Step.Vuln.Parse = []string{"nuclei", "-u", "{{.Asset}}", "-jsonl", "-silent"}, "nuclei"
	uncommented := regexp.MustCompile(`(?m)^#([a-z_]+ = .*)$`).ReplaceAll(doc, []byte("$1"))
	seen := map[string]bool{}
	for _, text := range [][]byte{doc, uncommented} {
		c, lines, problems, _ := parseConfig(text)
		if len(problems) > 0 || !reflect.DeepEqual(c, want) {
			t.Errorf("it is %+v, %v, want %+v", c, problems, want)
		}
		for key := range lines {
			seen[key] = true
		}
	}
	// The examples contradict one another, so they are only read. What stands above in its section is taken out.
	var c Config
	live := regexp.MustCompile(`(?m)^[a-z_]+ = .*$`).ReplaceAll(doc, nil)
	lines, problems, _ := strict.Decode(regexp.MustCompile(`(?m)^# ([a-z_]+ = .*)$`).ReplaceAll(live, []byte("$1")), &c)
	if len(problems) > 0 {
		t.Error(problems)
	}
	for key := range lines {
		seen[key] = true
	}
	for key := range keysBelow(reflect.TypeFor[Config](), "") {
		if !seen[key] {
			t.Errorf("%s is missing in the example", key)
		}
	}
}

// keysBelow are the paths of all keys of a table.
func keysBelow(t reflect.Type, path string) map[string]bool {
	keys := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		key := f.Tag.Get("toml")
		if key == "" {
			continue
		}
		keys[path+key] = true
		if f.Type.Kind() == reflect.Struct {
			for k := range keysBelow(f.Type, path+key+".") {
				keys[k] = true
			}
		}
	}
	return keys
}

func TestAClaimLivesAsLongAsTheStepsMayTake(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	if got := c.longest(); got < 90*time.Minute || got > 2*time.Hour {
		t.Errorf("by default %s", got)
	}
	c.Step.Vuln.Retries = 0
	if got := c.longest(); got != time.Hour {
		t.Errorf("with one scan of half an hour %s", got)
	}
	c.Step.Vuln.Timeout = strict.Duration(time.Duration(1<<63 - 1))
	if got := c.longest(); got != longestHold {
		t.Errorf("with a scan that may take for ever %s", got)
	}
}

// Whatever stands in the file, it is refused with a word or it is a configuration.
func FuzzConfig(f *testing.F) {
	doc, err := os.ReadFile("../packaging/agent.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	for _, s := range []string{"step.vuln.file = \"{{.Asset}}\"", "[step]\nvuln = 3", "[step.assess]\nhigh_risk = \"not kev\"", "[notification]\ntitle = \"{{len .Findings}}\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, _, problems, _ := parseConfig(doc)
		for _, p := range problems {
			if p.Message == "" {
				t.Errorf("a problem without a word at %q", p.Key)
			}
		}
	})
}
