// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// load writes a configuration file and loads it. In what it says, the file's path is left out.
func load(t *testing.T, doc string) (Config, error) {
	t.Helper()
	path := write(t, "picket.toml", doc)
	c, err := LoadConfig(path)
	if err != nil && !errors.Is(err, ErrConfig) {
		t.Errorf("%v is not an ErrConfig", err)
	}
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), path+":", "")) //nolint:err113 // only its text is looked at
	}
	return c, err
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnEmptyFileIsTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	c.path = ""
	if want := DefaultConfig(); !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%s\nwant\n%s", c, want)
	}
}

func TestG11_WhatIsWrongInTheFileIsALineWithWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		// What the decoder alone would let pass, or would not explain.
		"[lock]\nttl = 30":                                 `2: lock.ttl: has no unit: write "30s" for seconds`,
		"[lock]\nttl = 1.5":                                `2: lock.ttl: has no unit: write "1.5s" for seconds`,
		"[lock]\nttl = \"30\"":                             `2: lock.ttl: has no unit: write "30s" for seconds`,
		"[lock]\nttl = true":                               `2: lock.ttl: must be a string with a unit, such as "30s"`,
		"[lock]\nttl = [\"1s\"]":                           `2: lock.ttl: must be a string with a unit, such as "30s"`,
		"[lock]\nttl = \"soon\"":                           `2: lock.ttl: is not a duration: write a number with a unit (ms, s, m, h, d), such as "30s" or "1h30m"`,
		"[lock]\nttl = \"-1s\"":                            "2: lock.ttl: must be longer than nothing",
		"[lock]\nTTL = \"30s\"":                            "2: lock.TTL: is not known: did you mean ttl?",
		"[lock]\ntime_to_live = \"30s\"":                   "2: lock.time_to_live: is not known: write one of ttl",
		"lock.ttl = 30":                                    `1: lock.ttl: has no unit: write "30s" for seconds`,
		"lock = { ttl = 30 }":                              `1: lock.ttl: has no unit: write "30s" for seconds`,
		"[lock.ttl]\nx = 1":                                `1: lock.ttl: is a value, not a table: write a string with a unit, such as "30s"`,
		"[redis]\nwait_replicas = -1":                      "2: redis.wait_replicas: is -1: write 0 to 16",
		"[redis]\nwait_else = \"go on\"":                   `2: redis.wait_else: "go on" is not known: write refuse or go_on`,
		"[redis]\nwait_timeout = \"3s\"":                   "2: redis.wait_timeout: is 3s: write 1ms to 2s",
		"[lock]\nttl = \"2s\"\n[redis]\nwait_replicas = 1": "3: redis.wait_timeout: is 1s: write at most a third of lock.ttl, which is 2s, or a claim would be answered when its lock is half over",
		"[redis.addrs.x]\ny = 1":                           `1: redis.addrs: is a value, not a table: write a list of strings, such as ["one", "two"]`,
		"[Redis]":                                          "1: Redis: is not known: did you mean redis?",
		"[locks]\nttl = 30":                                "1: locks: is not known: did you mean lock?",
		"[[lock]]":                                         "1: lock: stands only once: write [lock]",
		"lock = 3":                                         "1: lock: must be a table",
		"[channel]\nname = \"a\"":                          "1: channel: can stand more than once: write [[channel]]",
		"channel = 3":                                      "1: channel: must be tables, each under its own [[…]]",
		"[[channel]]\nnmae = \"ops\"":                      "2: channel[0].nmae: is not known: did you mean name?",
		"[[channel]]\nname = \"a\"\n[channel.x]":           "3: channel[0].x: is not known: write one of name, type, url, url_file, proxy, proxy_file, secret_file, command, timeout, at_most_once, min_severity, flows, rate, insecure, language, template_file, mentions, max_length, smtp, helo, tls, username, password_file, from, to",
		"channel = [\n { name = 3 },\n]":                   "2: channel[0].name: must be a string in quotes",
		"host = 3":                                         "1: host: must be a string in quotes",
		"[claims]\nmax_per_uid = \"9\"":                    "2: claims.max_per_uid: must be a whole number without quotes",
		"[claims]\nmax_per_uid = 9.0":                      "2: claims.max_per_uid: must be a whole number without quotes",
		"[redis]\naddrs = \"127.0.0.1:6379\"":              `2: redis.addrs: must be a list of strings, such as ["one", "two"]`,
		"[redis]\naddrs = [1]":                             `2: redis.addrs: must be a list of strings, such as ["one", "two"]`,
		"[redis]\ntls = true":                              "2: redis.tls: must be a table",
		"host = \"a\"\nhost = \"b\"":                       "2: host: key host is already defined",
		"host = ":                                          "1: host: expected value, not end of input",
		"host = \"\xff\"":                                  "1: host: invalid UTF-8 character in basic string",

		// Values.
		"host = \"\"":                         "1: host: must be a name of 1 to 256 bytes without control characters",
		"host = \"a\\tb\"":                    "1: host: must be a name of 1 to 256 bytes without control characters",
		"state_dir = \"var/lib\"":             "1: state_dir: must be an absolute path",
		"admin_group = \"no-such-group\"":     `1: admin_group: there is no group "no-such-group": make it (groupadd --system no-such-group), or name another`,
		"[socket]\ngroup = \"no-such-one\"":   `2: socket.group: there is no group "no-such-one": make it (groupadd --system no-such-one), or name another`,
		"[socket]\npath = \"picket.sock\"":    "2: socket.path: must be an absolute path of at most 107 bytes, 86 of them its folder",
		"[socket]\nmode = \"660\"\npath=\"\"": "3: socket.path: must be an absolute path of at most 107 bytes, 86 of them its folder",
		"[socket]\nmode = 0o660":              "2: socket.mode: must be a string in quotes",
		"[socket]\nmode = \"rw-rw----\"":      `2: socket.mode: is not a mode: write an octal string such as "0660"`,
		"[socket]\nmode = \"0666\"":           `2: socket.mode: lets every user of the host connect: take writing from others, as in "0660"`,
		"[socket]\nmode = \"0060\"":           `2: socket.mode: locks the daemon's own user out: write at least "0600"`,

		"[redis]\naddrs = []":                                "2: redis.addrs: is empty: write host:port or unix:///path",
		"[redis]\naddrs = [\"a:1\", \"b:1\"]":                "2: redis.addrs: has 2 addresses, but redis.mode is standalone: write one, or set redis.mode to sentinel or cluster",
		"[redis]\naddrs = [\"localhost\"]":                   `2: redis.addrs: "localhost" is not an address: write host:port, such as 127.0.0.1:6379 or [::1]:6379, or unix:///path`,
		"[redis]\naddrs = [\"redis://h:1\"]":                 `2: redis.addrs: "redis://h:1" is not an address: write host:port, such as 127.0.0.1:6379 or [::1]:6379, or unix:///path`,
		"[redis]\naddrs = [\"::1:6379\"]":                    `2: redis.addrs: "::1:6379" is not an address: write host:port, such as 127.0.0.1:6379 or [::1]:6379, or unix:///path`,
		"[redis]\naddrs = [\"h:66000\"]":                     `2: redis.addrs: "h:66000" is not an address: write host:port, such as 127.0.0.1:6379 or [::1]:6379, or unix:///path`,
		"[redis]\naddrs = [\"unix://redis.sock\"]":           `2: redis.addrs: "unix://redis.sock" must be unix:// and an absolute path of at most 107 bytes, as in unix:///run/redis/redis.sock`,
		"[redis]\nmode=\"cluster\"\naddrs=[\"unix:///a\"]":   `3: redis.addrs: "unix:///a" is a Unix socket, which redis.mode = "cluster" cannot use: write host:port`,
		"[redis]\nmode=\"cluster\"\naddrs=[\"a:1\",\"a:1\"]": `3: redis.addrs: "a:1" stands there twice`,
		"[redis]\nmode = \"single\"":                         `2: redis.mode: "single" is not known: write standalone, sentinel or cluster`,
		"[redis]\nmode = \"sentinel\"":                       "1: redis.master: is missing: write the name under which the Sentinels know the master",
		"[redis]\nmaster = \"main\"":                         `2: redis.master: is for redis.mode = "sentinel" only: take it away`,
		"[redis]\nsentinel = { password_file = \"/x\" }":     `2: redis.sentinel: is for redis.mode = "sentinel" only: take it away`,
		"[redis]\ndb = -1":                                   "2: redis.db: is -1: write 0 or more",
		"[redis]\nmode = \"cluster\"\ndb = 1":                "3: redis.db: is 1, but a cluster has database 0 only: take it away",
		"[redis]\nprefix = \"{x}\"":                          "2: redis.prefix: must be 1 to 64 of A-Z a-z 0-9 . _ : -",
		"[redis]\nusername = \"x\"":                          "1: redis.password_file: is missing: redis.username is not used without it",
		"[redis]\npassword_file = \"/no/such\"":              "2: redis.password_file: cannot read the secret: open /no/such: no such file or directory",
		"[redis]\ntls = { cert_file = \"/x\" }":              "2: redis.tls.cert_file: cert_file and key_file go together: write both, or neither",
		"[redis]\ntls = { ca_file = \"/no/such\" }":          "2: redis.tls.ca_file: cannot read the authorities: open /no/such: no such file or directory",
		"[redis.tls]\nca_file = \"/proc/self/status\"":       "2: redis.tls.ca_file: /proc/self/status holds no certificate in PEM form",

		"[lock]\nttl = \"999ms\"":          "2: lock.ttl: is 999ms: write 1s to 10m",
		"[lock]\nttl = \"10m1s\"":          "2: lock.ttl: is 10m1s: write 1s to 10m",
		"[claims]\nmax_hold = \"25h\"":     "2: claims.max_hold: is 25h: write 1s to 24h, which is claims.max_hold_limit",
		"[claims]\nmax_hold = \"1ms\"":     "2: claims.max_hold: is 1ms: write 1s to 24h, which is claims.max_hold_limit",
		"[claims]\nmax_per_uid = 0":        "2: claims.max_per_uid: is 0: write 1 or more",
		"[tickets]\nkeep = \"24h59m59s\"":  "2: tickets.keep: is 24h59m59s: write at least 25h, which is claims.max_hold_limit and an hour",
		"[tickets]\nkeep_grants = \"24h\"": "2: tickets.keep_grants: is 24h: write at least 25h, which is claims.max_hold_limit and an hour",
		"[outbox]\nmax_size_mib = 0":       "2: outbox.max_size_mib: is 0: write 1 to 1048576",
		"[outbox]\nretry_first = \"1ms\"":  "2: outbox.retry_first: is 1ms: write at least 10ms",
		"[outbox]\nretry_first = \"10m\"":  "1: outbox.retry_max: is 5m: write at least 10m, which is outbox.retry_first",
		"[outbox]\ngive_up = \"1m\"":       "2: outbox.give_up: is 1m: write at least 5m, which is outbox.retry_max",
		"[outbox]\ngive_up = \"720h\"":     "2: outbox.give_up: is 720h: write less than 720h, which is tickets.keep, or tickets would be gone before their notifications are given up",
	} {
		t.Run(doc, func(t *testing.T) {
			t.Parallel()
			if _, err := load(t, doc); err == nil || !strings.Contains("\n"+err.Error()+"\n", "\n"+want+"\n") { // among what else is wrong
				t.Errorf("\n got %v\nwant %s", err, want)
			}
		})
	}
}

func TestG11_WhatIsWrongWithAChannelIsALineWithWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	secret := write(t, "secret", "hunter2\n")
	twoLines := write(t, "two", "a\nb\n")
	webhook := write(t, "webhook", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	broken := write(t, "broken", "{{.Nothing}}")
	const smtp = "smtp = \"mail.example.com:587\"\n"
	for keys, want := range map[string]string{
		`type = "log"`:                                           "1: channel[0].name: must be 1 to 64 of A-Z a-z 0-9 _ -",
		`name = "a/b"` + "\n" + `type = "log"`:                   "2: channel[0].name: must be 1 to 64 of A-Z a-z 0-9 _ -",
		`name = "a"`:                                             `1: channel[0].type: "" is not known: write one of webhook, slack, wecom, dingtalk, feishu, mail, exec, log`,
		`name = "a"` + "\n" + `type = "pager"`:                   `3: channel[0].type: "pager" is not known: write one of webhook, slack, wecom, dingtalk, feishu, mail, exec, log`,
		`name = "a"` + "\n" + `type = "webhook"`:                 "1: channel[0].url: is missing: write it, or the file where it is as url_file",
		hook(`url = "ftp://h/"`):                                 "4: channel[0].url: is not a URL for a webhook: write https://host/path",
		hook(`url = "https:///path"`):                            "4: channel[0].url: is not a URL for a webhook: write https://host/path",
		hook(`url = "http://example.com/"`):                      "4: channel[0].url: is http://, which anybody on the way can read: write https://, or insecure = true",
		hook(`url = "http://127.0.0.1.example.com/"`):            "4: channel[0].url: is http://, which anybody on the way can read: write https://, or insecure = true",
		hook(`url = "https://h/#x"`):                             "4: channel[0].url: has a #fragment, which is never sent: take it away",
		hook("url = \"https://h/\"\nurl_file = \"/x\""):          "5: channel[0].url_file: cannot go with url: write one of them",
		hook(`url_file = "/no/such"`):                            "4: channel[0].url_file: cannot read the secret: open /no/such: no such file or directory",
		hook(fmt.Sprintf("url_file = %q", secret)):               fmt.Sprintf("4: channel[0].url_file: what is in %s is not a URL for a webhook: write https://host/path", secret),
		hook(fmt.Sprintf("url_file = %q", twoLines)):             fmt.Sprintf("4: channel[0].url_file: %s has more than one line: write the secret alone", twoLines),
		hook("url = \"https://h/\"\nsecret_file = \"picket_x\""): "5: channel[0].secret_file: cannot read the secret: open /etc/picket/credentials/x: no such file or directory",
		hook("url = \"https://h/\"\nsecret_file = \"/x\""):       "5: channel[0].secret_file: cannot read the secret: open /x: no such file or directory",
		hook("url = \"https://h/\"\nsecret_file = \"x\""):        `5: channel[0].secret_file: "x" is relative, the name of a systemd credential, but $CREDENTIALS_DIRECTORY is not set: write an absolute path, or give the unit LoadCredential=`,
		hook("url = \"https://h/\"\ncommand = [\"/x\"]"):         `5: channel[0].command: is for type = "exec" only: take it away`,
		hook("url = \"https://h/\"\nmin_severity = \"x\""):       `5: channel[0].min_severity: "x" is not known: write one of info, low, medium, high, critical`,
		hook("url = \"https://h/\"\nrate = \"20\""):              `5: channel[0].rate: "20" is not a rate: write a number a second, minute or hour, such as "20/m"`,
		hook("url = \"https://h/\"\nflows = [\"x\"]"):            `5: channel[0].flows: "x" is not a known flow: write "asset-inference" or "list-report"`,
		hook("url = \"https://h/\"\nflows = [\"\"]"):             `5: channel[0].flows: "" is not a known flow: write "asset-inference" or "list-report"`,
		hook("url = \"https://h/\"\ntimeout = \"1ms\""):          "5: channel[0].timeout: is 1ms: write 100ms to 10m",
		logs("url = \"https://h/\""):                             `4: channel[0].url: is for type = "webhook", "slack", "wecom", "dingtalk", "feishu" only: take it away`,
		logs("insecure = true"):                                  `4: channel[0].insecure: is for type = "webhook", "slack", "wecom", "dingtalk", "feishu", "mail" only: take it away`,
		logs("[[channel]]\nname = \"a\"\ntype = \"log\""):        `5: channel[1].name: "a" is the name of channel[0] too: each needs a name of its own`,
		robot("slack", `proxy = "proxy:3128"`):                   `5: channel[0].proxy: is no proxy: write one like http://proxy.example.com:3128, or none`,
		robot("slack", `proxy = "http://a:b@proxy:3128"`):        `5: channel[0].proxy: holds a login: write all of it into a file, and that as proxy_file`,
		logs(`proxy = "none"`):                                   `4: channel[0].proxy: is for type = "webhook", "slack", "wecom", "dingtalk", "feishu" only: take it away`,
		robot("slack", `max_length = 500`):                       `5: channel[0].max_length: must be 1000 to 40000 characters`,
		robot("wecom", `max_length = 2000`):                      `5: channel[0].max_length: is for type = "slack" only: take it away`,
		"name = \"a\"\ntype = \"mail\"\nsmtp = \"h:25\"\nfrom = \"a@example.com\"\nto = [\"a@example.com\"]\nhelo = \"vm\"": `7: channel[0].helo: "vm" is no name for a mail server: write a full one, such as "scan-1.example.com", or an address, such as "[192.0.2.1]"`,
		robot("slack", `secret_file = "/x"`):                        `5: channel[0].secret_file: is for type = "webhook", "dingtalk", "feishu" only: take it away`,
		robot("dingtalk", fmt.Sprintf("secret_file = %q", webhook)): fmt.Sprintf("5: channel[0].secret_file: cannot use %s: write the secret as the robot's settings show it, alone", webhook),
		robot("wecom", `language = "fr"`):                           `5: channel[0].language: "fr" is not known: write one of en, zh`,
		robot("feishu", `mentions = ["@zhang"]`):                    `5: channel[0].mentions: "@zhang" is nobody: write user ids or mobile numbers, without an @ before them, or "@all"`,
		robot("feishu", fmt.Sprintf("template_file = %q", broken)):  `5: channel[0].template_file: cannot use the template: template: template:1:2: executing "template" at <.Nothing>: can't evaluate field Nothing in type channel.view`,
		robot("feishu", `template_file = "/no/such"`):               "5: channel[0].template_file: cannot read the template: open /no/such: no such file or directory",
		robot("feishu", `to = ["a@example.com"]`):                   `5: channel[0].to: is for type = "mail" only: take it away`,
		logs(`language = "en"`):                                     `4: channel[0].language: is for type = "slack", "wecom", "dingtalk", "feishu", "mail" only: take it away`,
		logs(`mentions = ["@all"]`):                                 `4: channel[0].mentions: is for type = "slack", "wecom", "dingtalk", "feishu" only: take it away`,
		letter(`smtp = "h"`):                                        `7: channel[0].smtp: "h" is not a mail server: write its name and port, such as "mail.example.com:587"`,
		letter(smtp + `tls = "ssl"`):                                `8: channel[0].tls: "ssl" is not known: write one of starttls, implicit, none`,
		letter(smtp + `tls = "none"`):                               "8: channel[0].tls: is none, so anybody on the way can read: write starttls or implicit, or insecure = true",
		letter(smtp + `username = "u"`):                             "1: channel[0].password_file: is missing: name the file where the password of username is",
		letter(smtp + fmt.Sprintf("password_file = %q", secret)):    "1: channel[0].username: is missing: write whose password is in password_file",
		letter("smtp = \"127.0.0.1:25\"\ntls = \"none\"\n" + fmt.Sprintf("username = \"u\"\npassword_file = %q", secret)): `9: channel[0].username: would send a password that anybody on the way can read: take it away, or write tls = "starttls"`,
		"name = \"a\"\ntype = \"mail\"\nsmtp = \"h:25\"\nfrom = \"a\"\nto = [\"a@example.com\"]":                          `5: channel[0].from: "a" is not a mail address: write one such as "ops@example.com"`,
		"name = \"a\"\ntype = \"mail\"\nsmtp = \"h:25\"\nfrom = \"a@example.com\"":                                        `1: channel[0].to: is missing: write a list of addresses, such as ["ops@example.com"]`,
		command(""):                                `1: channel[0].command: is missing: write the program's absolute path and its arguments, such as ["/usr/local/bin/page", "--now"]`,
		command(`command = ["page"]`):              `4: channel[0].command: "page" is relative: write the program's absolute path`,
		command(`command = ["/no/such"]`):          "4: channel[0].command: cannot find the program: stat /no/such: no such file or directory",
		command(`command = ["/etc/passwd", "-x"]`): "4: channel[0].command: /etc/passwd is not a program: make it executable",
	} {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			if _, err := load(t, "[[channel]]\n"+keys); err == nil || err.Error() != want {
				t.Errorf("\n got %v\nwant %s", err, want)
			}
		})
	}
}

func hook(keys string) string    { return "name = \"a\"\ntype = \"webhook\"\n" + keys }
func command(keys string) string { return "name = \"a\"\ntype = \"exec\"\n" + keys }
func robot(kind, keys string) string {
	return fmt.Sprintf("name = \"a\"\ntype = %q\nurl = \"https://h/x\"\n%s", kind, keys)
}

func letter(keys string) string {
	return "name = \"a\"\ntype = \"mail\"\nfrom = \"a@example.com\"\nto = [\"b@example.com\"]\n\n" + keys
}
func logs(keys string) string { return "name = \"a\"\ntype = \"log\"\n" + keys }

func TestEverythingWrongIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(t, "hots = 1\n[lock]\nttl = 3\n[nothing]\nx = 1\ny = 2\n")
	want := "1: hots: is not known: did you mean host?\n3: lock.ttl: has no unit: write \"3s\" for seconds\n" +
		"4: nothing: is not known: write one of host, state_dir, admin_group, socket, redis, lock, claims, tickets, outbox, channel"
	if err == nil || strings.ReplaceAll(err.Error(), " 1:", "1:") != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}

	c := DefaultConfig()
	c.Lock.TTL, c.Socket.Mode, c.Redis.Mode = 0, "777", "x"
	if err := c.Validate(); !errors.Is(err, ErrConfig) || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want an ErrConfig of three lines, got %v", err)
	}
}

func TestAChannelIsReadWhole(t *testing.T) {
	t.Parallel()
	secret := write(t, "secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	c, err := load(t, hookDoc(secret))
	if err != nil {
		t.Fatal(err)
	}
	want := Channel{
		Name: "ops", Type: "webhook", URL: "https://alerts.example.com/hook?key=hunter2", SecretFile: secret, Timeout: Duration(3 * time.Second),
		AtMostOnce: true, MinSeverity: "high", Rate: "20/m",
	}
	if len(c.Channels) != 2 || !reflect.DeepEqual(c.Channels[0], want) {
		t.Fatalf("got %+v\nwant %+v", c.Channels, want)
	}
	if got := c.Channels[1]; got.Timeout != DefaultChannel().Timeout || got.MinSeverity != "info" {
		t.Errorf("defaults are missing in %+v", got)
	}
	for _, s := range []string{c.String(), fmt.Sprintf("%v %+v", c, c)} {
		if strings.Contains(s, "hunter2") || strings.Contains(s, "MfKQ") {
			t.Errorf("a secret shows in %s", s)
		}
		if !strings.Contains(s, "alerts.example.com") {
			t.Errorf("the host is missing in %s", s)
		}
	}
}

func hookDoc(secret string) string {
	return fmt.Sprintf(`
[[channel]]
name = "ops"
type = "webhook"
url = "https://alerts.example.com/hook?key=hunter2"
secret_file = %q
timeout = "3s"
at_most_once = true
min_severity = "high"
rate = "20/m"

[[channel]]
name = "local"
type = "webhook"
url = "http://[::1]:8080/"
`, secret)
}

func TestWhatAnErrorSaysHoldsNoSecret(t *testing.T) {
	t.Parallel()
	secret := write(t, "secret", "hunter2-hunter2\n")
	for _, keys := range []string{
		hook(`url = "ftp://h/hunter2-hunter2"`), hook(`url = "http://h/hunter2-hunter2"`), hook("url = \"https://h/\\u0001hunter2-hunter2\""),
		hook(fmt.Sprintf("url_file = %q", secret)), hook(fmt.Sprintf("url = \"https://h/\"\nsecret_file = %q", secret)),
	} {
		_, err := load(t, "[[channel]]\n"+keys)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", keys, err)
		}
	}
}

func TestARelativeSecretIsASystemdCredential(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	for content, want := range map[string]string{"pass word": "pass word", "password\n": "password", "password\r\n": "password", " x \n": " x "} {
		if err := os.WriteFile(filepath.Join(dir, "redis"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readSecret("redis"); err != nil || got != want {
			t.Errorf("%q is read as %q, %v", content, got, err)
		}
	}
	for _, name := range []string{"../redis", "missing", ""} {
		if got, err := readSecret(name); err == nil {
			t.Errorf("%q is read as %q", name, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "empty"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSecret("picket_none"); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "picket_none")) || !strings.Contains(err.Error(), "restart") {
		t.Errorf("a credential that was not handed over: %v", err)
	}
	if _, err := readSecret("empty"); err == nil {
		t.Error("an empty secret is taken")
	}
}

func TestTheFileThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PICKET_CONFIG", filepath.Join(t.TempDir(), "none.toml"))
	_, err := LoadConfig("")
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("got %v", err)
	}
}

func TestAChannelsFilesAreReadAndNotShown(t *testing.T) {
	t.Parallel()
	sign, password, url := write(t, "sign", "SECabc123\n"), write(t, "password", "correct horse\n"), write(t, "url", "https://robots.example.com/hook/0123456789\n")
	template := write(t, "template", "{{.Title}}\n")
	c, err := load(t, fmt.Sprintf(`
[[channel]]
name = "chat"
type = "dingtalk"
url_file = %q
secret_file = %q
language = "zh"
template_file = %q
mentions = ["@all", "13800001111"]

[[channel]]
name = "letters"
type = "mail"
smtp = "mail.example.com:465"
tls = "implicit"
username = "picket"
password_file = %q
from = "Picket <picket@example.com>"
to = ["ops@example.com"]
helo = "scan-1.example.com"

[[channel]]
name = "open"
type = "slack"
url = "https://robots.example.com/hook/0123456789"
proxy_file = %q
max_length = 4000
`, url, sign, template, password, write(t, "proxy", "http://me:battery-staple@proxy.example.com:3128\n")))
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(c.Warnings(), "\n"); !strings.Contains(w, "channel[2].url: the URL of a robot is a secret") || strings.Contains(w, "0123456789") {
		t.Errorf("the warnings are %s", w)
	}
	if s := c.String(); strings.Contains(s, "0123456789") || strings.Contains(s, "horse") || strings.Contains(s, "staple") || strings.Contains(s, "SECabc") {
		t.Errorf("a secret shows in %s", s)
	}
}
