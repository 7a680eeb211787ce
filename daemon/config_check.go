// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/engine/store"
)

const (
	maxSocketPath = 107       // bytes: sun_path without its final NUL
	maxSocketDir  = 86        // bytes: the socket is made in a folder inside it, /.picket-NNNNNNNNNN/s
	spareLife     = time.Hour // by which tickets and grants outlive the longest claim
)

var (
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)
	modeForm   = regexp.MustCompile(`^0?[0-7]{3}$`)
)

// Validate names the keys with bad values and says what would be right, all at once, a line each. It reads the files that are
// named. Its error is an ErrConfig.
func (c Config) Validate() error { return strict.Located("", nil, c.check(checker{})) }

func (c Config) check(k checker) []problem {
	k.Demand(c.Host != "" && len(c.Host) <= 256 && !strings.ContainsFunc(c.Host, unicode.IsControl), "host",
		"must be a name of 1 to 256 bytes without control characters")
	k.Demand(filepath.IsAbs(c.StateDir), "state_dir", "must be an absolute path")
	k.group("admin_group", c.AdminGroup, c.adminGroupSet)
	c.Socket.check(&k)
	c.Redis.check(&k)
	c.checkTimes(&k)
	names := map[string]int{}
	for i, ch := range c.Channels {
		at := fmt.Sprintf("channel[%d].", i)
		for _, p := range ch.Check(files{k.staleCredentials}) {
			k.Problems = append(k.Problems, problem{Key: at + p.Key, Message: p.Message})
		}
		for _, name := range ch.Flows {
			_, err := store.LookupFlow(name)
			k.Demand(err == nil && name != "", at+"flows", "%q is not a known flow: write \"asset-inference\" or \"list-report\"", name)
		}
		if first, twice := names[ch.Name]; twice {
			k.Demand(false, at+"name", "%q is the name of channel[%d] too: each needs a name of its own", ch.Name, first)
		}
		names[ch.Name] = i
	}
	return k.Problems
}

func (s SocketConfig) check(k *checker) {
	k.Demand(filepath.IsAbs(s.Path) && len(s.Path) <= maxSocketPath && len(filepath.Dir(s.Path)) <= maxSocketDir, "socket.path",
		"must be an absolute path of at most %d bytes, %d of them its folder", maxSocketPath, maxSocketDir)
	mode, err := s.mode()
	if err != nil {
		k.Demand(false, "socket.mode", "is not a mode: write an octal string such as \"0660\"")
	} else {
		k.Demand(mode&0o002 == 0, "socket.mode", "lets every user of the host connect: take writing from others, as in \"0660\"")
		k.Demand(mode&0o600 == 0o600, "socket.mode", "locks the daemon's own user out: write at least \"0600\"")
	}
	k.group("socket.group", s.Group, s.groupSet)
}

func (s SocketConfig) mode() (os.FileMode, error) {
	if !modeForm.MatchString(s.Mode) {
		return 0, strconv.ErrSyntax
	}
	mode, err := strconv.ParseUint(s.Mode, 8, 32)
	return os.FileMode(mode), err
}

// group demands that a group that was asked for is there; one that is only the default may be missing.
func (k *checker) group(key, name string, set bool) {
	if set && name != "" {
		_, err := user.LookupGroup(name)
		k.Demand(err == nil, key, "there is no group %q: make it (groupadd --system %s), or name another", name, name)
	}
}

func (c Config) checkTimes(k *checker) {
	limit := time.Duration(c.Claims.MaxHoldLimit)
	k.between("lock.ttl", c.Lock.TTL, time.Second, 10*time.Minute)
	k.between("redis.wait_timeout", c.Redis.WaitTimeout, time.Millisecond, 2*time.Second)
	k.Demand(c.Redis.WaitReplicas == 0 || 3*c.Redis.WaitTimeout <= c.Lock.TTL, "redis.wait_timeout",
		"is %s: write at most a third of lock.ttl, which is %s, or a claim would be answered when its lock is half over", c.Redis.WaitTimeout, c.Lock.TTL)
	k.Demand(limit >= time.Second, "claims.max_hold_limit", "is %s: write at least 1s", c.Claims.MaxHoldLimit)
	k.Demand(time.Duration(c.Claims.MaxHold) >= time.Second && c.Claims.MaxHold <= c.Claims.MaxHoldLimit, "claims.max_hold",
		"is %s: write 1s to %s, which is claims.max_hold_limit", c.Claims.MaxHold, c.Claims.MaxHoldLimit)
	k.Demand(c.Claims.MaxPerUID >= 1, "claims.max_per_uid", "is %d: write 1 or more", c.Claims.MaxPerUID)

	k.Demand(time.Duration(c.Tickets.Keep) >= limit+spareLife, "tickets.keep",
		"is %s: write at least %s, which is claims.max_hold_limit and an hour", c.Tickets.Keep, Duration(limit+spareLife))
	k.Demand(time.Duration(c.Tickets.KeepGrants) >= limit+spareLife, "tickets.keep_grants",
		"is %s: write at least %s, which is claims.max_hold_limit and an hour", c.Tickets.KeepGrants, Duration(limit+spareLife))

	k.Demand(c.Outbox.MaxSizeMiB >= 1 && c.Outbox.MaxSizeMiB <= 1<<20, "outbox.max_size_mib", "is %d: write 1 to %d", c.Outbox.MaxSizeMiB, 1<<20)
	k.Demand(time.Duration(c.Outbox.RetryFirst) >= 10*time.Millisecond, "outbox.retry_first", "is %s: write at least 10ms", c.Outbox.RetryFirst)
	k.Demand(c.Outbox.RetryMax >= c.Outbox.RetryFirst, "outbox.retry_max",
		"is %s: write at least %s, which is outbox.retry_first", c.Outbox.RetryMax, c.Outbox.RetryFirst)
	k.Demand(c.Outbox.GiveUp >= c.Outbox.RetryMax, "outbox.give_up",
		"is %s: write at least %s, which is outbox.retry_max", c.Outbox.GiveUp, c.Outbox.RetryMax)
	k.Demand(c.Outbox.GiveUp < c.Tickets.Keep, "outbox.give_up",
		"is %s: write less than %s, which is tickets.keep, or tickets would be gone before their notifications are given up", c.Outbox.GiveUp, c.Tickets.Keep)
}

// checker collects problems.
type checker struct {
	strict.Problems
	staleCredentials bool // those of an earlier start are here, if any
}

// readable demands that reading the files called names went without err, but for stale credentials.
func (k *checker) readable(err error, key string, names ...string) {
	stale := k.staleCredentials && !slices.ContainsFunc(names, filepath.IsAbs)
	k.Demand(stale || err == nil, key, "%v", err)
}

// between demands that a duration is within its limits.
func (k *checker) between(key string, d Duration, low, high time.Duration) {
	k.Demand(time.Duration(d) >= low && time.Duration(d) <= high, key, "is %s: write %s to %s", d, Duration(low), Duration(high))
}
