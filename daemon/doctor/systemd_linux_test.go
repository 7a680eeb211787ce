// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeSystemd has systemctl and journalctl say what a test wants: of picketd.service and of all other units.
func fakeSystemd(t *testing.T, service, others, said string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"systemctl":  "#!/bin/sh\ncase $2 in picketd.service) cat " + dir + "/service;; *) cat " + dir + "/others;; esac\n",
		"journalctl": "#!/bin/sh\ncase $1 in _SYSTEMD_UNIT=*) cat " + dir + "/said;; *) echo Failed to start;; esac\n",
		"service":    service, "others": others, "said": said,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestDoctorAsksSystemd: state, restarts, end and the last error of the daemon, and what helps; the same of the nightly run.
func TestDoctorAsksSystemd(t *testing.T) {
	const loaded = "LoadState=loaded\n"
	for name, c := range map[string]struct {
		service, others string
		running         bool
		says, right     string
	}{
		"not here":      {"LoadState=not-found\n", "", true, "", ""},
		"well":          {loaded + "ActiveState=active\nNRestarts=2\n", loaded + "ActiveState=active\n", true, "is active, and was started again 2 times", ""},
		"masked":        {"LoadState=masked\nActiveState=inactive\n", "", false, "picketd.service, which is masked", "systemctl unmask picketd.service"},
		"never started": {loaded + "ActiveState=inactive\nSubState=dead\nResult=success\n", loaded + "ActiveState=active\n", false, "it has not run", "systemctl start"},
		"in a loop": {
			loaded + "ActiveState=activating\nSubState=auto-restart\nResult=exit-code\nNRestarts=7\nExecMainCode=1\nExecMainStatus=78\n", loaded + "ActiveState=active\n",
			false, "picketd.service is activating (auto-restart, exit-code): it ended with 78, and was started again 7 times; it said: lock.ttl: has no unit", "mend what it says; it is tried again",
		},
		"no credentials": {
			loaded + "ActiveState=activating\nExecMainCode=1\nExecMainStatus=243\n", loaded + "ActiveState=active\n",
			false, "it ended with 243", "mend /etc/picket/credentials",
		},
		"given up": {
			loaded + "ActiveState=failed\nExecMainCode=2\nExecMainStatus=11\n", loaded + "ActiveState=active\n",
			false, "it was ended by SIGSEGV", startAgain,
		},
		"the socket is given up": {loaded + "ActiveState=inactive\n", loaded + "ActiveState=failed\n", false, "is inactive", "systemctl reset-failed"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeSystemd(t, c.service, c.others, "picket: lock.ttl: has no unit\nmore\n")
			var v visit
			if v.service(t.Context()); v.running != c.running {
				t.Errorf("running is %v", v.running)
			}
			if got := v.find("service"); !c.running && (got.Level != Wrong || !strings.Contains(got.Found, c.says) || !strings.Contains(got.Right, c.right)) {
				t.Errorf("got %+v", got)
			}
			if stopped := c.service == loaded+"ActiveState=inactive\nSubState=dead\nResult=success\n"; stopped && strings.Contains(v.found[0].Found, "it said") {
				t.Errorf("one that has not failed said something: %+v", v.found)
			}
			if c.running && len(v.found) > 0 && !strings.Contains(v.found[0].Found, c.says) {
				t.Errorf("got %+v", v.found)
			}
		})
	}
	for name, c := range map[string]struct{ others, level string }{
		"not wanted":  {loaded + "UnitFileState=disabled\nActiveState=inactive\n", ""},
		"well":        {loaded + "UnitFileState=enabled\nActiveState=active\nExecMainCode=1\n", ""},
		"failed":      {loaded + "UnitFileState=enabled\nActiveState=failed\nResult=exit-code\nExecMainCode=1\nExecMainStatus=78\n", Wrong},
		"not running": {loaded + "UnitFileState=enabled\nActiveState=inactive\n", Wrong},
		"no night":    {loaded + "UnitFileState=enabled\nActiveState=active\nConditionResult=no\nConditionTimestampMonotonic=0\n", ""},
		"no list":     {loaded + "UnitFileState=enabled\nActiveState=active\nConditionResult=no\nConditionTimestampMonotonic=1\nExecMainCode=1\n", Wrong},
	} {
		t.Run("nightly "+name, func(t *testing.T) {
			fakeSystemd(t, loaded, c.others, "")
			var v visit
			v.nightly(t.Context())
			if got := v.find("nightly"); got.Level != c.level {
				t.Errorf("got %+v", v.found)
			}
		})
	}
}

// TestDoctorKnowsWhereSystemdListens: the socket may be elsewhere than agents look, or its file gone.
func TestDoctorKnowsWhereSystemdListens(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "picket.sock")
	const active = "LoadState=loaded\nActiveState=active\n"
	for others, right := range map[string]string{
		"LoadState=not-found\n":                             "systemctl start picketd",
		"LoadState=loaded\nActiveState=inactive\n":          "systemctl start picketd",
		active + "Listen=" + gone + " (Stream)\n":           "systemctl restart picketd.socket",
		active + "Listen=/a (Stream)\nListen=/b (Stream)\n": "systemd has it at /a and /b",
	} {
		fakeSystemd(t, active, others, "")
		v := visit{c: Config{Socket: gone}}
		v.socket(t.Context())
		if got := v.find("socket"); got.Level != Wrong || !strings.Contains(got.Right, right) {
			t.Errorf("%s: got %+v", others, got)
		}
	}
}

// TestDoctorLooksForJournald where the daemon is systemd's.
func TestDoctorLooksForJournald(t *testing.T) {
	here, away := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "away")
	journald, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: here, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer journald.Close()
	for _, c := range []struct{ service, journald, level string }{
		{"LoadState=loaded\n", here, ""},
		{"LoadState=loaded\n", away, Warning},
		{"LoadState=not-found\n", away, ""},
	} {
		fakeSystemd(t, c.service, "", "")
		v := visit{journald: c.journald}
		v.journal(t.Context())
		if got := v.find("journal"); got.Level != c.level {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}
