// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"time"
)

// exitLost is how an agent ends whose claim was lost.
const exitLost = 124

// tell plays the whole story.
func tell(ctx context.Context, s *stage, agent, examples string) {
	hook := startReceiver()
	defer hook.close()
	say("Two hosts, scan-01 and scan-02, each with a Picket daemon; one Redis for both.")
	s.startRedis()
	d1 := s.startDaemon(ctx, "scan-01", hook.url)
	s.startDaemon(ctx, "scan-02", hook.url)
	list(ctx, s, hook, examples)
	frozen(ctx, s, hook, d1, agent, filepath.Join(examples, "findings", "trivy.json"))
}

// frozen is the story that Picket exists for.
func frozen(ctx context.Context, s *stage, hook *receiver, d1 *actor, agent, report string) {
	heading("2. The frozen writer")
	target := net.JoinHostPort("127.0.0.2", hook.port) // where nothing listens yet
	run := func(name, host string) *actor {
		return s.start(name, exec.Command(agent, "-socket", s.socket(host), "-target", target, "-report", report, "db-01", "w48"))
	}
	say("db-01 is down. Agent A claims it on scan-01, gets no answer, and is about to look once more.")
	a := run("agent A", "scan-01")
	a.says(ctx, "no answer")
	a.freeze()
	d1.freeze()
	say("SIGSTOP: agent A and the daemon of scan-01 freeze, like a paused machine. Nobody renews the lock now; it lasts %s.", ttl)

	service := startService(target, sshGreeting)
	defer service.close()
	say("Meanwhile db-01 comes up. On scan-02 agent B waits for the lock, and goes on where A has left the ticket:")
	expect(ctx, run("agent B", "scan-02"), 0)
	arrival(ctx, hook)
	say("B found db-01 online and at risk. People have been told; the ticket is finished.")

	d1.thaw()
	a.thaw()
	say("SIGCONT: scan-01 wakes. A had no answer in time, so it writes OFFLINE:")
	expect(ctx, a, exitLost)
	quote(a.said.String())
	say("A was refused, and exits with %d. Its own daemon knew that the claim is lost, and recorded the refusal. Had it believed otherwise, Redis would have refused the write by its token and nonce. The ticket is as B has left it:", exitLost)
	s.ticket(ctx, "scan-01", "db-01", "w48")
	say("Its history, with the write that was refused:")
	s.history(ctx, "scan-01", "db-01", "w48")
}

// expect waits for an actor to end with a code.
func expect(ctx context.Context, a *actor, want int) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("it takes longer than a minute"))
	defer cancel()
	code, err := a.code(ctx)
	check("wait for "+a.name, err)
	if code != want {
		check("", fmt.Errorf("%s exits with %d, not with %d: %s", a.name, code, want, &a.said))
	}
}

func arrival(ctx context.Context, hook *receiver) {
	n := hook.next(ctx)
	say("A notification arrives at the webhook:")
	quote(fmt.Sprintf("Idempotency-Key: %s\n%s (%s)\n%s", n.key, n.title, n.severity, n.text))
}
