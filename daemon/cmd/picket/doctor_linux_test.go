// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// TestDoctorTellsWhyNobodyIsLetIn runs it as a user who may not connect.
func TestDoctorTellsWhyNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("another user is needed, and so is root")
	}
	f := startFake(t)
	dir := filepath.Dir(f.socket)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	picket := copyOfPicket(t, dir)
	for _, c := range []struct {
		mode  os.FileMode
		right string
	}{
		{0o660, "usermod -aG root 12345, and log in again"},
		{0o600, `write socket.mode = "0660" and a socket.group that 12345 is in`},
	} {
		if err := os.Chmod(f.socket, c.mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(picket, "doctor", "--json", "--socket", f.socket)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		out, err := cmd.Output()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != exitFailed {
			t.Errorf("it ends with %v: %s", err, out)
		}
		var d diagnosis
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		if got := d.find("access"); got.Level != levelWrong || got.Right != c.right {
			t.Errorf("mode %o: %+v", c.mode, got)
		}
	}
}

// copyOfPicket is the command where every user may run it.
func copyOfPicket(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "picket")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (d *diagnosis) find(check string) finding {
	for _, f := range d.Findings {
		if f.Check == check && f.Level != levelOK {
			return f
		}
	}
	return finding{}
}

// TestDoctorSeesWhatTheDaemonTells: each thing that goes wrong, and what does not.
func TestDoctorSeesWhatTheDaemonTells(t *testing.T) {
	t.Parallel()
	offset := int64(-2500)
	for name, c := range map[string]struct {
		status client.Status
		check  string
		level  string
		says   string
	}{
		"not ready": {client.Status{Checks: []client.Check{{Name: "redis_writes", Error: "out of memory"}}}, "redis_writes", levelWrong, "out of memory"},
		"alarm": {
			client.Status{Warnings: []client.Warning{{Name: "token_back", Alarm: true, Message: "it went back"}}},
			"token_back", levelWrong, "it went back",
		},
		"warning":     {client.Status{Warnings: []client.Warning{{Name: "configuration", Message: "0777"}}}, "configuration", levelWarning, "0777"},
		"old Redis":   {client.Status{Redis: client.RedisStatus{Versions: []string{"6.0.16"}}}, "redis_version", levelWrong, "6.0.16"},
		"clocks":      {client.Status{Redis: client.RedisStatus{ClockOffsetMS: &offset}}, "clocks", levelWrong, "2.5s"},
		"version":     {client.Status{Version: "0.0.1"}, "version", levelWarning, "the daemon is 0.0.1"},
		"no channel":  {client.Status{}, "channels", levelWarning, "nobody can be told"},
		"breaker":     {client.Status{Channels: []client.ChannelInfo{{Name: "ops", BreakerOpen: true}}}, "channels", levelWrong, "ops"},
		"near limit":  {client.Status{Users: client.UserClaims{Most: 80, Limit: 100}}, "claims", levelWarning, "80 of 100"},
		"at limit":    {client.Status{Users: client.UserClaims{Most: 100, Limit: 100}}, "claims", levelWrong, "100"},
		"old intents": {client.Status{Outbox: client.OutboxStatus{Ready: 3, OldestAgeMS: 660_000}}, "notifications", levelWarning, "11m0s"},
		"parked":      {client.Status{}, "parked", levelWrong, "1 notification is parked until a person says whether it arrived; the oldest is of web-01/w1"},
		"login":       {client.Status{Checks: []client.Check{{Name: "redis", Error: "WRONGPASS invalid username-password pair"}}}, "redis", levelWrong, "WRONGPASS"},
		"alone":       {client.Status{Checks: []client.Check{{Name: "redis", Error: "refused"}}}, "fleet", levelWarning, "nobody knows"},
		"full":        {client.Status{Warnings: []client.Warning{{Name: "outbox", Message: "full"}}}, "outbox_full", levelWarning, "full"},
		"gone":        {client.Status{Fleet: []client.Member{{ID: "dead"}, {ID: "x", Host: "b", Lives: true}}}, "fleet", levelWarning, "dead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t)
			f.parked = name == "parked"
			var d diagnosis
			cl := client.New(f.socket)
			defer cl.CloseIdleConnections()
			d.daemon(t.Context(), cl, c.status)
			if got := d.find(c.check); got.Level != c.level || !strings.Contains(got.Found, c.says) {
				t.Errorf("got %+v", got)
			}
			if got := d.find("redis"); name == "login" && !strings.Contains(got.Right, "password_file") {
				t.Errorf("what would be right of a refused login is %q", got.Right)
			}
			d.print(io.Discard)
		})
	}
	for version, want := range map[string]bool{"6.1.9": true, "5.0.14": true, "6.2.0": false, "7.0.15": false, "8.0": false, "?": false} {
		if tooOld(version) != want {
			t.Errorf("%s: %v", version, !want)
		}
	}
}

func TestDoctorKnowsASocketThatIsOpenToAll(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	if err := os.Chmod(f.socket, 0o666); err != nil {
		t.Fatal(err)
	}
	var d diagnosis
	d.socket(t.Context(), f.socket)
	if got := d.find("socket"); got.Level != levelWarning || !strings.Contains(got.Found, "every user") {
		t.Errorf("got %+v", got)
	}
	var file diagnosis
	file.socket(t.Context(), "/dev/null")
	if got := file.find("socket"); got.Level != levelWrong {
		t.Errorf("got %+v", got)
	}
}
