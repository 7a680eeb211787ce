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
func tell(ctx context.Context, s *stage, agent, examples string) error {
	hook, err := startReceiver()
	if err != nil {
		return err
	}
	defer hook.close()
	say("Two hosts, scan-01 and scan-02, each with a Picket daemon; one Redis for both.")
	if err := s.startRedis(); err != nil {
		return err
	}
	d1, err := s.startDaemon(ctx, "scan-01", hook.url)
	if err != nil {
		return err
	}
	if _, err := s.startDaemon(ctx, "scan-02", hook.url); err != nil {
		return err
	}
	if err := list(ctx, s, hook, examples); err != nil {
		return err
	}
	return frozen(ctx, s, hook, d1, agent, filepath.Join(examples, "findings", "trivy.json"))
}

// frozen is the story that Picket exists for.
func frozen(ctx context.Context, s *stage, hook *receiver, d1 *actor, agent, report string) error {
	heading("2. The frozen writer")
	target := net.JoinHostPort("127.0.0.2", hook.port) // where nothing listens yet
	run := func(name, host string) (*actor, error) {
		return s.start(name, exec.Command(agent, "-socket", s.socket(host), "-target", target, "-report", report, "db-01", "w48"))
	}
	say("db-01 is down. Agent A claims it on scan-01, gets no answer, and is about to look once more.")
	a, err := run("agent A", "scan-01")
	if err != nil {
		return err
	}
	if err := a.says(ctx, "no answer"); err != nil {
		return err
	}
	a.freeze()
	d1.freeze()
	say("SIGSTOP: agent A and the daemon of scan-01 freeze, like a paused machine. Nobody renews the lock now; it lasts %s.", ttl)

	service, err := startService(target, sshGreeting)
	if err != nil {
		return err
	}
	defer service.close()
	say("Meanwhile db-01 comes up. On scan-02 agent B waits for the lock, and goes on where A has left the ticket:")
	b, err := run("agent B", "scan-02")
	if err != nil {
		return err
	}
	if err := expect(ctx, b, 0); err != nil {
		return err
	}
	if err := arrival(ctx, hook); err != nil {
		return err
	}
	say("B found db-01 online and at risk. People have been told; the ticket is finished.")

	d1.thaw()
	a.thaw()
	say("SIGCONT: scan-01 wakes. A had no answer in time, so it writes OFFLINE:")
	if err := expect(ctx, a, exitLost); err != nil {
		return err
	}
	quote(a.said.String())
	say("A was refused, and exits with %d. Its own daemon knew that the claim is lost, and recorded the refusal. Had it believed otherwise, Redis would have refused the write by its token and nonce. The ticket is as B has left it:", exitLost)
	if err := s.ticket(ctx, "scan-01", "db-01", "w48"); err != nil {
		return err
	}
	say("Its history, with the write that was refused:")
	return s.history(ctx, "scan-01", "db-01", "w48")
}

// expect waits for an actor to end with a code.
func expect(ctx context.Context, a *actor, want int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("it takes longer than a minute"))
	defer cancel()
	code, err := a.code(ctx)
	if err != nil {
		return fmt.Errorf("cannot wait for %s: %w", a.name, err)
	}
	if code != want {
		return fmt.Errorf("%s exits with %d, not with %d: %s", a.name, code, want, &a.said)
	}
	return nil
}

func arrival(ctx context.Context, hook *receiver) error {
	n, err := hook.next(ctx)
	if err != nil {
		return err
	}
	say("A notification arrives at the webhook:")
	quote(fmt.Sprintf("Idempotency-Key: %s\n%s (%s)\n%s", n.key, n.title, n.severity, n.text))
	return nil
}
