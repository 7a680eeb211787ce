// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

// crashOfProcess names the file from which the test binary, as a daemon, learns where to end: WHEN WHAT, as in "before
// notify". WHEN is before (Redis never gets it), after (Redis has executed it, the reply is not used) or hold (it stands in
// front of it, has made a file with heldSuffix, and goes on when the file says something else); WHAT is a script, or hint.
const (
	crashOfProcess = "PICKET_TEST_CRASH"
	heldSuffix     = ".held"
)

// crashOnCue has the daemon end as its file says, and with the test process: that holds its standard input open.
func crashOnCue(d *Daemon) {
	file := os.Getenv(crashOfProcess)
	if file == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		die()
	}()
	d.redis.AddHook(&cue{at: func(when, what string) error {
		point, _ := os.ReadFile(file)
		switch string(point) {
		case when + " " + what:
			die()
		case "hold " + what:
			if err := os.WriteFile(file+heldSuffix, nil, 0o600); err != nil {
				return err
			}
			for string(point) == "hold "+what {
				time.Sleep(time.Millisecond)
				point, _ = os.ReadFile(file)
			}
		}
		return nil
	}})
}

// die is a crash: nothing is flushed, nothing deferred is run.
func die() {
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {}
}

// cue is a hook of go-redis that tells before and after each command what it is. An error before keeps it from Redis, one after
// replaces the reply.
type cue struct {
	at func(when, what string) error

	mu    sync.Mutex
	names map[string]string // of scripts, by digest; learnt when Redis does not know a script yet and is sent its text
}

func (q *cue) DialHook(next redis.DialHook) redis.DialHook { return next }

func (q *cue) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return q.around([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (q *cue) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return q.around(cmds, func() error { return next(ctx, cmds) })
	}
}

func (q *cue) around(cmds []redis.Cmder, run func() error) error {
	for _, cmd := range cmds {
		if err := q.at("before", q.name(cmd)); err != nil {
			return err
		}
	}
	if err := run(); err != nil {
		return err
	}
	for _, cmd := range cmds {
		if err := q.at("after", q.name(cmd)); err != nil {
			return err
		}
	}
	return nil
}

// scriptTitle is the first line of a script.
var scriptTitle = regexp.MustCompile(`\A-- (\w+)\n`)

// name is a script's name, hint for the write of a hint, else empty.
func (q *cue) name(cmd redis.Cmder) string {
	word := func(i int) string {
		if i >= len(cmd.Args()) {
			return ""
		}
		s, _ := cmd.Args()[i].(string)
		return s
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch cmd.Name() {
	case "zadd":
		if strings.Contains(word(1), ":undelivered:") {
			return "hint"
		}
	case "evalsha":
		return q.names[word(1)]
	case "eval":
		title := scriptTitle.FindStringSubmatch(word(1))
		if title == nil {
			return ""
		}
		if q.names == nil {
			q.names = map[string]string{}
		}
		digest := sha1.Sum([]byte(word(1)))
		q.names[hex.EncodeToString(digest[:])] = title[1]
		return title[1]
	}
	return ""
}
