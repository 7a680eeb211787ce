// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/daemon"
	"github.com/picketd/picket/sockapi/client"
)

const (
	oldestUsual = 10 * time.Minute // an intent that is older waits for more than a passing trouble
	claimsUsual = 80               // percent of the limit of one user's claims
)

// checkRight says what would be right for a check of readiness that fails.
var checkRight = map[string]string{
	"redis":        "start Redis, or write its address, user and TLS into [redis]",
	"layout":       "one version at a time: start the one that wrote the data, or set another redis.prefix, or flush the data of one that has finished",
	"permissions":  "give them to the user with ACL SETUSER, then ACL SAVE; examples/redis.acl of the package has all that are needed",
	"redis_writes": "give Redis memory (maxmemory), and its user the right to write and to run scripts on its keys",
	"settings":     "set maxmemory-policy to noeviction, by CONFIG SET and in redis.conf",
	"outbox":       "make room on the disk of state_dir, and see that the daemon's user may write there",
	"identity":     "stop one of the two daemons, and remove its outbox.db if it is the copy",
	"socket":       "systemctl restart picketd.socket, or where the daemon makes its socket itself, restart the daemon",
	"accepting":    "wait until it has stopped, and start it again",
}

// toldChecks are what is looked at in a daemon's answer to GET /v1/status, in this order.
var toldChecks = []func(*visit, context.Context, client.Status){
	(*visit).identity, (*visit).readiness, (*visit).server, (*visit).warnings, (*visit).claims, (*visit).channels,
	(*visit).notifications, (*visit).undelivered, (*visit).fleet,
}

func (v *visit) identity(_ context.Context, s client.Status) {
	v.ok("daemon", "%s of host %s, pid %d, since %s", s.Version, s.Host, s.PID, localTime(s.StartedAt))
	if own := daemon.Version().Version; own != s.Version {
		v.warn("version", "restart the daemon after an update, or take the command of the same version",
			"the daemon is %s, this command %s", s.Version, own)
	}
}

func (v *visit) readiness(_ context.Context, s client.Status) { v.checks(s.Checks) }
func (v *visit) server(_ context.Context, s client.Status)    { v.redis(s.Redis) }

func (v *visit) warnings(_ context.Context, s client.Status) {
	for _, w := range s.Warnings {
		level := Warning
		if w.Alarm {
			level = Wrong
		}
		at := ""
		if w.At != nil {
			at = " (" + localTime(*w.At) + ")"
		}
		name := w.Name
		if name == "outbox" { // as the check of its disk is called
			name = "outbox_full"
		}
		v.add(name, level, "", "%s%s", w.Message, at)
	}
}

func (v *visit) checks(checks []client.Check) {
	for _, c := range checks {
		name := c.Name
		if fails(checks, "redis") && (name == "layout" || name == "redis_writes") {
			v.warn(name, "", "nobody knows while Redis does not answer")
			continue
		}
		if name == "socket" { // as the look at its file is called
			name = "listening"
		}
		if c.OK {
			v.ok(name, "as it should be")
		} else {
			v.wrong(name, rightOf(c), "%s", c.Error)
		}
	}
}

func fails(checks []client.Check, name string) bool {
	return slices.ContainsFunc(checks, func(c client.Check) bool { return c.Name == name && !c.OK })
}

// rightOf says what would be right for a check that fails. A Redis that refuses the login runs.
func rightOf(c client.Check) string {
	if strings.Contains(c.Error, "refuses the connection") { // that says which key would be right
		return ""
	}
	for _, refused := range []string{"WRONGPASS", "NOAUTH", "NOPERM", "AUTH "} {
		if c.Name == "redis" && strings.Contains(c.Error, refused) {
			return "Redis runs and does not let the daemon in: write into [redis] the username and the password_file of a user that its ACL LIST has"
		}
	}
	return checkRight[c.Name]
}

func (v *visit) claims(_ context.Context, s client.Status) {
	u := s.Users
	right := "release what is not needed, or raise claims.max_per_uid"
	switch {
	case u.Limit == 0: // an older daemon does not tell
	case u.Most >= u.Limit:
		v.wrong("claims", right, "one user has %d, as many as it may: its next is refused", u.Most)
	case u.Most*100 >= u.Limit*claimsUsual:
		v.warn("claims", right, "one user has %d of %d", u.Most, u.Limit)
	case u.Most == 0:
		v.ok("claims", "nobody holds any")
	default:
		v.ok("claims", "no user has more than %d of %d", u.Most, u.Limit)
	}
}

func (v *visit) channels(_ context.Context, s client.Status) {
	if len(s.Channels) == 0 {
		v.warn("channels", "write a [[channel]]", "there is none: nobody can be told of anything")
	}
	for _, c := range s.Channels {
		if c.BreakerOpen {
			v.wrong("channels", "see its errors with picket outbox ls, and try it with picket channel test "+c.Name,
				"%s (%s) fails again and again; it is probed every 10 s", c.Name, c.Type)
		} else {
			v.ok("channels", "%s (%s)", c.Name, c.Type)
		}
	}
}

func (v *visit) notifications(_ context.Context, s client.Status) {
	o := s.Outbox
	oldest := time.Duration(o.OldestAgeMS) * time.Millisecond
	if oldest > oldestUsual {
		v.warn("notifications", "picket outbox ls says why", "%d wait, the oldest for %s", o.Ready, oldest.Round(time.Second))
	} else {
		v.ok("notifications", "%s", Waiting(o))
	}
}

// Waiting says what is on its way from this host.
func Waiting(o client.OutboxStatus) string {
	if o.Staged+o.Ready == 0 {
		return "nothing waits"
	}
	return fmt.Sprintf("%d staged, %d ready, the oldest for %s", o.Staged, o.Ready, plain.Duration(time.Duration(o.OldestAgeMS)*time.Millisecond))
}

// undelivered looks for notifications that go nowhere by themselves.
func (v *visit) undelivered(ctx context.Context, _ client.Status) {
	for _, c := range []struct{ status, level, means, right string }{
		{client.DeliveryParked, Wrong, "parked until a person says whether it arrived", "find out whether they arrived, then picket outbox settle, retry or discard"},
		{client.DeliveryDead, Warning, "given up on a channel", "picket outbox ls --status dead says why; mend it, then picket outbox retry"},
	} {
		list, err := v.client.Outbox(ctx, c.status)
		if err != nil {
			v.wrong(c.status, "", "cannot list what is %s: %s", c.status, v.c.Describe(err))
			continue
		}
		if n := len(list.Intents); n > 0 {
			count := plain.Count(n, "notification is", "notifications are")
			if list.More {
				count = "more than " + count
			}
			v.add(c.status, c.level, c.right, "%s %s; the oldest is of %s", count, c.means, list.Intents[0].Ticket)
		}
	}
}

func (v *visit) fleet(_ context.Context, s client.Status) {
	if fails(s.Checks, "redis") {
		v.warn("fleet", "", "nobody knows which other daemons live while Redis does not answer")
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
	v.ok("fleet", "%s", strings.TrimSuffix(plain.Count(len(live), "other daemon lives", "other daemons live")+": "+strings.Join(live, ", "), ": "))
	if len(gone) > 0 {
		v.warn("fleet", "start them again, or give another daemon all their channels, by name and type",
			"no sign of life, and perhaps undelivered notifications, of %s", strings.Join(gone, ", "))
	}
}
