// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

func (v *visit) find(check string) Finding {
	for _, f := range v.found {
		if f.Check == check && f.Level != OK {
			return f
		}
	}
	return Finding{}
}

// serve is a daemon that knows of one parked notification, or of none.
func serve(t *testing.T, parked bool) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-doctor-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := client.IntentList{Intents: []client.Intent{}}
		if parked && r.URL.Query().Get("status") == client.DeliveryParked {
			list.Intents = append(list.Intents, client.Intent{Ticket: "web-01/w1"})
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	server.Listener = listener
	server.Start()
	t.Cleanup(func() {
		server.Close()
		_ = os.RemoveAll(dir)
	})
	return listener.Addr().String()
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
		"not ready": {client.Status{Checks: []client.Check{{Name: "redis_writes", Error: "out of memory"}}}, "redis_writes", Wrong, "out of memory"},
		"alarm": {
			client.Status{Warnings: []client.Warning{{Name: "token_back", Alarm: true, Message: "it went back"}}},
			"token_back", Wrong, "it went back",
		},
		"warning":     {client.Status{Warnings: []client.Warning{{Name: "configuration", Message: "0777"}}}, "configuration", Warning, "0777"},
		"old Redis":   {client.Status{Redis: client.RedisStatus{Versions: []string{"6.0.16"}}}, "redis_version", Wrong, "6.0.16"},
		"clocks":      {client.Status{Redis: client.RedisStatus{ClockOffsetMS: &offset}}, "clocks", Wrong, "2.5s"},
		"version":     {client.Status{Version: "0.0.1"}, "version", Warning, "the daemon is 0.0.1"},
		"no channel":  {client.Status{}, "channels", Warning, "nobody can be told"},
		"breaker":     {client.Status{Channels: []client.ChannelInfo{{Name: "ops", BreakerOpen: true}}}, "channels", Wrong, "ops"},
		"near limit":  {client.Status{Users: client.UserClaims{Most: 80, Limit: 100}}, "claims", Warning, "80 of 100"},
		"at limit":    {client.Status{Users: client.UserClaims{Most: 100, Limit: 100}}, "claims", Wrong, "100"},
		"old intents": {client.Status{Outbox: client.OutboxStatus{Ready: 3, OldestAgeMS: 660_000}}, "notifications", Warning, "11m0s"},
		"parked":      {client.Status{}, "parked", Wrong, "1 notification is parked until a person says whether it arrived; the oldest is of web-01/w1"},
		"login":       {client.Status{Checks: []client.Check{{Name: "redis", Error: "WRONGPASS invalid username-password pair"}}}, "redis", Wrong, "WRONGPASS"},
		"no Redis":    {client.Status{Checks: []client.Check{{Name: "redis", Error: "refused"}, {Name: "redis_writes", Error: "refused"}}}, "redis_writes", Warning, "nobody knows"},
		"alone":       {client.Status{Checks: []client.Check{{Name: "redis", Error: "refused"}}}, "fleet", Warning, "nobody knows"},
		"deaf":        {client.Status{Checks: []client.Check{{Name: "socket", Error: "gone"}}}, "listening", Wrong, "gone"},
		"full":        {client.Status{Warnings: []client.Warning{{Name: "outbox", Message: "full"}}}, "outbox_full", Warning, "full"},
		"gone":        {client.Status{Fleet: []client.Member{{ID: "dead"}, {ID: "x", Host: "b", Lives: true}}}, "fleet", Warning, "dead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := visit{client: client.New(serve(t, name == "parked"))}
			defer v.client.CloseIdleConnections()
			for _, look := range toldChecks {
				look(&v, t.Context(), c.status)
			}
			if got := v.find(c.check); got.Level != c.level || !strings.Contains(got.Found, c.says) {
				t.Errorf("got %+v", got)
			}
			if got := v.find("redis"); name == "login" && !strings.Contains(got.Right, "password_file") {
				t.Errorf("what would be right of a refused login is %q", got.Right)
			}
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
	v := visit{c: Config{Socket: serve(t, false)}}
	if err := os.Chmod(v.c.Socket, 0o666); err != nil {
		t.Fatal(err)
	}
	v.socket(t.Context())
	if got := v.find("socket"); got.Level != Warning || !strings.Contains(got.Found, "every user") {
		t.Errorf("got %+v", got)
	}
	file := visit{c: Config{Socket: "/dev/null"}}
	file.socket(t.Context())
	if got := file.find("socket"); got.Level != Wrong {
		t.Errorf("got %+v", got)
	}
}

// TestTheFileOfARunningDaemonIsFound, as it was named: by a flag in either form, by the environment, from its own folder.
func TestTheFileOfARunningDaemonIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		env  string
		want string
	}{
		"flag":        {[]string{"--config", "/etc/p.toml"}, "", "/etc/p.toml"},
		"joined":      {[]string{"-config=/etc/p.toml"}, "PICKET_CONFIG=/etc/q.toml", "/etc/p.toml"},
		"environment": {nil, "PICKET_CONFIG=/etc/q.toml", "/etc/q.toml"},
		"relative":    {[]string{"--config", "p.toml"}, "", filepath.Join(dir, "p.toml")},
		"not told":    {nil, "A=b", ""},
	} {
		cmd := exec.Command("sh", append([]string{"-c", "echo; read x", "picket"}, c.args...)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), c.env}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = stdout.Read(make([]byte, 1)) // it runs
		if got := configOf(cmd.Process.Pid); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		_ = stdin.Close()
		_ = cmd.Wait()
	}
}
