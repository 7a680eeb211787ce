// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// soakOfProcess makes the test binary one of the agents of a soak, "good" or "hostile", on the socket that soakSocket names. It works
// until its standard input ends.
const (
	soakOfProcess = "PICKET_TEST_SOAK"
	soakSocket    = "PICKET_TEST_SOAK_SOCKET"
)

const soakClaims = 200 // of the good one

// soaked is what the good one has to tell at its end.
type soaked struct {
	Calls    int
	Longest  time.Duration // but for those that found no daemon
	Lost     []string      // claims, and why
	Failed   []string      // calls
	Notified []string      // tickets whose notification was accepted
}

func runSoak(role string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	socket := os.Getenv(soakSocket)
	if role == "hostile" {
		hostileAgent(ctx, socket)
		return nil
	}
	return json.NewEncoder(os.Stdout).Encode(goodAgent(ctx, client.New(socket)))
}

// goodAgent holds claims, does the work of an agent beside them, and notes what goes wrong.
func goodAgent(ctx context.Context, c *client.Client) (s soaked) {
	call := func(what string, do func(context.Context) error) bool {
		for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			begun := time.Now()
			err := do(context.Background())
			if (errors.Is(err, client.ErrUnreachable) || errors.Is(err, syscall.ECONNRESET)) && time.Now().Before(until) {
				continue // it is being restarted: nobody holds its socket meanwhile, and who waited to be accepted is cut off
			}
			s.Calls, s.Longest = s.Calls+1, max(s.Longest, time.Since(begun))
			if err != nil {
				s.Failed = append(s.Failed, what+": "+err.Error())
			}
			return err == nil
		}
	}
	claim := func(asset string) (id string) {
		call("claim", func(ctx context.Context) error {
			got, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: theTask, Heartbeat: "10m", Wait: "30s"})
			if err == nil {
				id = got.Claim.ID
			}
			return err
		})
		return id
	}
	held := map[string]string{}
	for i := range soakClaims {
		asset := fmt.Sprintf("good-%d", i)
		held[asset] = claim(asset)
	}
	fmt.Println("held")
	for n := 0; ctx.Err() == nil && len(s.Failed) == 0; n++ {
		asset := fmt.Sprintf("new-%d", n)
		id := claim(asset)
		for _, step := range []client.StepRequest{
			{Step: client.StepOnline, State: client.StateAssetOnline}, {Step: client.StepVuln, State: client.StateVulnCheckDone}, {Step: client.StepAssess, State: client.StateHighRiskFound},
		} {
			call(step.Step, func(ctx context.Context) error { _, err := c.Step(ctx, id, step); return err })
		}
		if call("notify", func(ctx context.Context) error {
			_, err := c.Notify(ctx, id, client.NotificationRequest{Title: "t", Text: "x", Severity: client.SeverityHigh}, 0)
			return err
		}) {
			s.Notified = append(s.Notified, asset+"/"+theTask)
		}
		call("finish", func(ctx context.Context) error { _, err := c.Finish(ctx, id, ""); return err })
		time.Sleep(100 * time.Millisecond)
	}
	for asset, id := range held {
		call("get", func(ctx context.Context) error {
			got, err := c.GetClaim(ctx, id)
			if err == nil && got.Status != client.StatusHeld {
				s.Lost = append(s.Lost, fmt.Sprintf("%s: %s", asset, describe(got)))
			}
			return err
		})
	}
	return s
}

// hostileAgent does all at once that one user could do to the others.
func hostileAgent(ctx context.Context, socket string) {
	c := client.New(socket)
	big := json.RawMessage(`{"a":"` + strings.Repeat("x", 500_000) + `"}`)
	fat := func(asset string) (id string) {
		got, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: theTask, Heartbeat: "1h"})
		if err != nil || got.Claim == nil {
			return ""
		}
		for _, step := range []client.StepRequest{
			{Step: client.StepOnline, State: client.StateAssetOnline, Facts: big},
			{Step: client.StepVuln, State: client.StateVulnCheckDone, Facts: big},
			{Step: client.StepIntel, State: client.StateVulnCheckDone, Facts: big},
			{Step: client.StepAssess, State: client.StateHighRiskFound, Facts: big},
		} {
			_, _ = c.Step(ctx, got.Claim.ID, step)
		}
		return got.Claim.ID
	}
	id := fat("fat")
	for i := range 10 {
		fat(fmt.Sprintf("fat-%d", i))
	}
	request := func(text string) func(int) {
		return func(int) { // and leaves the answer unread
			conn, err := net.Dial("unix", socket)
			if err != nil {
				time.Sleep(50 * time.Millisecond)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
			_, _ = io.WriteString(conn, text)
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
			}
		}
	}
	body := "POST /v1/claims HTTP/1.1\r\nHost: p\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20-1)
	note := client.NotificationRequest{Title: "t", Text: "x", Severity: client.SeverityLow, Facts: big}
	connects := func(int) { // and goes away at once
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
		}
	}
	var work sync.WaitGroup
	for _, one := range []struct {
		times int
		do    func(n int)
	}{
		{300, request(body)},
		{300, request("GET /v1/tickets/fat/" + theTask + " HTTP/1.1\r\nHost: p\r\n\r\n")},
		{200, request("POST /v1/nowhere HTTP/1.1\r\nHost: p\r\nContent-Length: 9\r\n\r\n")},
		{200, request("")},
		{4, connects},
		{8, func(int) { _, _ = c.Tickets(ctx, client.TicketQuery{Limit: 1000}) }},
		{16, func(int) { _, _ = c.History(ctx, "flood-0", theTask) }},
		{4, func(int) { _, _ = c.Status(ctx) }},
		{8, func(int) { _, _ = c.Claims(ctx) }},
		{16, func(n int) {
			got, err := c.Claim(ctx, client.ClaimRequest{Asset: fmt.Sprintf("flood-%d", n), Task: theTask, Heartbeat: "1h"})
			for i := 0; err == nil && i < 1000; i++ {
				_, err = c.Fail(ctx, got.Claim.ID, client.FailureRequest{Step: client.StepOnline, Error: fmt.Sprint(i, strings.Repeat("e", 4000))})
			}
			if got.Claim != nil {
				_ = c.Release(ctx, got.Claim.ID)
			}
		}},
		{200, func(n int) {
			_, _ = c.Claim(ctx, client.ClaimRequest{Asset: fmt.Sprintf("fat-%d", n%10), Task: "other", Heartbeat: "1h", Wait: "5s"})
		}},
		{100, func(int) { _, _ = c.Notify(ctx, id, note, 5*time.Second) }},
	} {
		for n := range one.times {
			work.Go(func() {
				for ctx.Err() == nil {
					one.do(n)
				}
			})
		}
	}
	work.Wait()
}
