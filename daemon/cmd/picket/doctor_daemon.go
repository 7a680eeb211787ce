// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
)

const (
	oldestUsual = 10 * time.Minute // an intent that is older waits for more than a passing trouble
	claimsUsual = 80               // percent of the limit of one user's claims
	driftUsual  = 1000             // ms; the daemon raises its alarm at the same
)

// checkRight says what would be right for a check of readiness that fails.
var checkRight = map[string]string{
	"redis":        "start Redis, or write its address, user and TLS into [redis]",
	"redis_writes": "give Redis memory (maxmemory), and its user the right to write and to run scripts on its keys",
	"settings":     "set maxmemory-policy to noeviction, by CONFIG SET and in redis.conf",
	"outbox":       "make room on the disk of state_dir, and see that the daemon's user may write there",
	"identity":     "stop one of the two daemons, and remove its outbox.db if it is the copy",
	"socket":       "systemctl restart picketd.socket, or where the daemon makes its socket itself, restart the daemon",
	"accepting":    "wait until it has stopped, and start it again",
}

// daemon looks at what the daemon says of itself.
func (d *diagnosis) daemon(ctx context.Context, cl *client.Client, s client.Status) {
	d.ok("daemon", "%s of host %s, pid %d, since %s", s.Version, s.Host, s.PID, clock(s.StartedAt))
	if own := ownVersion(); own != s.Version {
		d.warn("version", "restart the daemon after an update, or take the command of the same version",
			"the daemon is %s, this command %s", s.Version, own)
	}
	d.checks(s.Checks)
	d.redis(s.Redis)
	for _, w := range s.Warnings {
		level := levelWarning
		if w.Alarm {
			level = levelWrong
		}
		at := ""
		if w.At != nil {
			at = " (" + clock(*w.At) + ")"
		}
		name := w.Name
		if name == "outbox" { // as the check of its disk is called
			name = "outbox_full"
		}
		d.add(name, level, "", "%s%s", w.Message, at)
	}
	d.claims(s.Users)
	d.channels(s.Channels)
	d.outbox(ctx, cl, s.Outbox)
	d.fleet(s)
}

func (d *diagnosis) checks(checks []client.Check) {
	for _, c := range checks {
		if c.OK {
			d.ok(c.Name, "as it should be")
		} else {
			d.wrong(c.Name, rightOf(c), "%s", c.Error)
		}
	}
}

// rightOf says what would be right for a check that fails. A Redis that refuses the login runs.
func rightOf(c client.Check) string {
	for _, refused := range []string{"WRONGPASS", "NOAUTH", "NOPERM", "AUTH "} {
		if c.Name == "redis" && strings.Contains(c.Error, refused) {
			return "Redis runs and does not let the daemon in: write into [redis] the username and the password_file of a user that its ACL LIST has"
		}
	}
	return checkRight[c.Name]
}

func (d *diagnosis) redis(r client.RedisStatus) {
	for _, v := range r.Versions {
		if tooOld(v) {
			d.wrong("redis_version", "update it to 6.2 or later", "Redis is %s", v)
		} else {
			d.ok("redis_version", "%s, %s", v, r.Mode)
		}
	}
	switch offset := r.ClockOffsetMS; {
	case offset == nil:
	case max(*offset, -*offset) > driftUsual:
		d.wrong("clocks", "set both by NTP", "Redis' clock is %s from this host's", millis(*offset))
	default:
		d.ok("clocks", "Redis' clock and this host's agree within %s", millis(driftUsual))
	}
}

// tooOld reports whether a version of Redis is older than 6.2. One that cannot be read is not.
func tooOld(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	major, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 2 {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && (major < 6 || major == 6 && minor < 2)
}

func (d *diagnosis) claims(u client.UserClaims) {
	right := "release what is not needed, or raise claims.max_per_uid"
	switch {
	case u.Limit == 0: // an older daemon does not tell
	case u.Most >= u.Limit:
		d.wrong("claims", right, "one user has %d, as many as it may: its next is refused", u.Most)
	case u.Most*100 >= u.Limit*claimsUsual:
		d.warn("claims", right, "one user has %d of %d", u.Most, u.Limit)
	case u.Most == 0:
		d.ok("claims", "nobody holds any")
	default:
		d.ok("claims", "no user has more than %d of %d", u.Most, u.Limit)
	}
}

func (d *diagnosis) channels(channels []client.ChannelInfo) {
	if len(channels) == 0 {
		d.warn("channels", "write a [[channel]]", "there is none: nobody can be told of anything")
	}
	for _, c := range channels {
		if c.BreakerOpen {
			d.wrong("channels", "see its errors with picket outbox ls, and try it with picket channel test "+c.Name,
				"%s (%s) fails again and again; it is probed every 10 s", c.Name, c.Type)
		} else {
			d.ok("channels", "%s (%s)", c.Name, c.Type)
		}
	}
}

// outbox looks for notifications that go nowhere by themselves.
func (d *diagnosis) outbox(ctx context.Context, cl *client.Client, o client.OutboxStatus) {
	oldest := time.Duration(o.OldestAgeMS) * time.Millisecond
	if oldest > oldestUsual {
		d.warn("notifications", "picket outbox ls says why", "%d wait, the oldest for %s", o.Ready, oldest.Round(time.Second))
	} else {
		d.ok("notifications", "%s", waiting(o))
	}
	for _, c := range []struct{ status, level, means, right string }{
		{client.DeliveryParked, levelWrong, "parked until a person says whether it arrived", "find out whether they arrived, then picket outbox settle, retry or discard"},
		{client.DeliveryDead, levelWarning, "given up on a channel", "picket outbox ls --status dead says why; mend it, then picket outbox retry"},
	} {
		list, err := cl.Outbox(ctx, c.status)
		if err != nil {
			d.wrong(c.status, "", "cannot list what is %s: %s", c.status, describe(err))
			continue
		}
		if n := len(list.Intents); n > 0 {
			count := plural(n, "notification is", "notifications are")
			if list.More {
				count = "more than " + count
			}
			d.add(c.status, c.level, c.right, "%s %s; the oldest is of %s", count, c.means, list.Intents[0].Ticket)
		}
	}
}

func (d *diagnosis) fleet(s client.Status) {
	if slices.ContainsFunc(s.Checks, func(c client.Check) bool { return c.Name == "redis" && !c.OK }) {
		d.warn("fleet", "", "nobody knows which other daemons live while Redis does not answer")
		return
	}
	var live, gone []string
	for _, m := range s.Fleet {
		if m.Lives {
			live = append(live, m.Host)
		} else {
			gone = append(gone, m.ID)
		}
	}
	d.ok("fleet", "%s", strings.TrimSuffix(plural(len(live), "other daemon lives", "other daemons live")+": "+strings.Join(live, ", "), ": "))
	if len(gone) > 0 {
		d.warn("fleet", "start them again, or give another daemon all their channels, by name and type",
			"no sign of life, and perhaps undelivered notifications, of %s", strings.Join(gone, ", "))
	}
}

// configOf is the file that a running daemon was started with, empty when it was not told, or this user cannot see it.
func configOf(pid int) string {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	env, _ := os.ReadFile(filepath.Join(proc, "environ"))
	path := ""
	for one := range strings.SplitSeq(string(env), "\x00") {
		if v, ok := strings.CutPrefix(one, "PICKET_CONFIG="); ok {
			path = v
		}
	}
	args := strings.Split(string(line), "\x00")
	for i, arg := range args {
		name, v, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case name != "config" || !strings.HasPrefix(arg, "-"):
		case ok:
			path = v
		case i+1 < len(args):
			path = args[i+1]
		}
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil {
		return ""
	}
	return filepath.Join(cwd, path)
}

// configuration looks at the file, that of the running daemon unless another is named, and with it at Redis when no daemon could say how that is.
func (d *diagnosis) configuration(c *cli.Context, answered bool, pid int) {
	ctx, cancel := context.WithTimeout(c.Context, doctorLimit)
	defer cancel()
	path := c.String("config")
	if path == "" && pid > 0 {
		path = configOf(pid)
	}
	e := examineConfig(ctx, path, !answered)
	switch {
	case e.hidden && answered:
		d.ok("configuration", "it was not looked at: %v", e.err)
		return
	case e.err != nil:
		d.wrong("configuration", "", "%v", e.err)
		return
	}
	d.ok("configuration", "the file is good")
	for _, w := range e.unwise {
		d.warn("configuration", "", "%s", w)
	}
	if answered {
		return // the daemon has told the rest
	}
	d.checks(e.checks)
	d.redis(e.redis)
	for _, w := range e.warnings {
		d.warn("redis_settings", "", "%s", w)
	}
	if e.socket != c.String("socket") {
		d.warn("socket", fmt.Sprintf("--socket %s, or PICKET_SOCKET", e.socket), "the configuration has it at %s", e.socket)
	}
}
