// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// agentOfProcess names the socket with which the test binary becomes an agent, which can be stopped and killed.
const agentOfProcess = "PICKET_TEST_AGENT"

// order is what an agent is told to do, a line on its standard input. It has one claim at a time.
type order struct {
	Claim *client.ClaimRequest `json:",omitempty"`
	Beat  time.Duration        `json:",omitempty"` // with Claim: it gives a sign of life so often
	Step  *client.StepRequest  `json:",omitempty"`
	Many  string               `json:",omitempty"` // it claims assets whose names begin so, many at once, until it is killed
}

// report is what came of an order, a line on the agent's standard output.
type report struct {
	Claim   *client.Claim   `json:",omitempty"`
	Problem *client.Problem `json:",omitempty"`
	Error   string          `json:",omitempty"`
}

// runAgent does what it is told until its standard input ends, as it does when the test process is gone.
func runAgent(socket string) error {
	in, out, c := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout), client.New(socket)
	claim, ctx := "", context.Background()
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if o.Many != "" {
			claimMany(ctx, c, o.Many)
			continue
		}
		var r report
		var err error
		if o.Claim != nil {
			var got client.ClaimResponse
			got, err = c.Claim(ctx, *o.Claim)
			if r.Claim = got.Claim; r.Claim != nil {
				claim = r.Claim.ID
			}
			if o.Beat > 0 && r.Claim != nil {
				go func() {
					for range time.Tick(o.Beat) {
						_, _ = c.Heartbeat(ctx, r.Claim.ID)
					}
				}()
			}
		} else {
			_, err = c.Step(ctx, claim, *o.Step)
		}
		if err != nil {
			r.Error = err.Error()
			errors.As(err, &r.Problem)
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// claimMany claims with many threads, on the word of its own process.
func claimMany(ctx context.Context, c *client.Client, name string) {
	for thread := range 24 {
		go func() {
			for i := 0; ; i++ {
				if _, err := c.Claim(ctx, client.ClaimRequest{Asset: fmt.Sprintf("%s-%d-%d", name, thread, i), Task: theTask}); err != nil {
					time.Sleep(5 * time.Millisecond)
				}
			}
		}()
	}
}

// agentProcess is an agent from the test's side.
type agentProcess struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
	end sync.Once
}

// newAgent starts an agent of a host.
func newAgent(t *testing.T, h *crashHost) *agentProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentOfProcess+"="+h.config.Socket.Path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &agentProcess{cmd: cmd, in: json.NewEncoder(in), out: json.NewDecoder(out)}
	t.Cleanup(a.kill)
	return a
}

func (a *agentProcess) kill() {
	a.end.Do(func() {
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
	})
}

func (a *agentProcess) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	send(t, a.cmd.Process, s)
}

// send sends a signal. After SIGSTOP it returns when no thread of the process runs any more.
func send(t *testing.T, p *os.Process, s syscall.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
	if s != syscall.SIGSTOP {
		return
	}
	eventually(t, "the process is stopped", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Pid))
		for _, thread := range threads {
			stat, _ := os.ReadFile(thread) // one that ended has none
			if len(stat) > 0 && !bytes.Contains(stat, []byte(") T ")) {
				return false
			}
		}
		return err == nil && len(threads) > 0
	})
}

// tell gives an order, also to an agent that is stopped: it finds it when it wakes.
func (a *agentProcess) tell(t *testing.T, o order) {
	t.Helper()
	if err := a.in.Encode(o); err != nil {
		t.Fatal(err)
	}
}

// says is what came of the oldest order that is not answered yet.
func (a *agentProcess) says(t *testing.T) report {
	t.Helper()
	late := time.AfterFunc(time.Minute, a.kill)
	defer late.Stop()
	var r report
	if err := a.out.Decode(&r); err != nil {
		t.Fatalf("the agent says nothing: %v", err)
	}
	return r
}

// claims has the agent claim, which must succeed.
func (a *agentProcess) claims(t *testing.T, r client.ClaimRequest, beat time.Duration) client.Claim {
	t.Helper()
	a.tell(t, order{Claim: &r, Beat: beat})
	got := a.says(t)
	if got.Claim == nil {
		t.Fatalf("the agent cannot claim %s: %s", r.Asset, got.Error)
	}
	return *got.Claim
}

// records has the agent record that its asset is online, which must succeed.
func (a *agentProcess) records(t *testing.T) {
	t.Helper()
	a.tell(t, order{Step: &client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline}})
	if got := a.says(t); got.Error != "" {
		t.Errorf("the agent cannot write: %s", got.Error)
	}
}

var offline = order{Step: &client.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline}}

// wantRefused demands that a write was refused because its claim is no longer good, for one of the reasons.
func (r report) wantRefused(t *testing.T, reasons ...string) {
	t.Helper()
	switch p := r.Problem; {
	case p == nil:
		t.Errorf("a write of a claim that is lost was answered with %q", r.Error)
	case p.Code == client.StaleToken && slices.Contains(reasons, client.ReasonTaken):
	case p.Code != client.ClaimLost || !slices.Contains(reasons, p.Reason):
		t.Errorf("refused with %s, reason %q, want %v", p.Code, p.Reason, reasons)
	}
}

// signal sends the daemon a signal.
func (h *crashHost) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	send(t, h.cmd.Process, s)
}

// wantHeld demands that a claim is held still, with the token that it had.
func (h *crashHost) wantHeld(t *testing.T, c client.Claim) {
	t.Helper()
	got, err := h.client.GetClaim(t.Context(), c.ID)
	if err != nil || got.Status != client.StatusHeld || got.Token != c.Token {
		t.Errorf("the claim on %s is %s, %v, want it held with token %d", c.Asset, describe(got), err, c.Token)
	}
}

// wantLost waits until a claim is lost, and demands one of the reasons.
func (h *crashHost) wantLost(t *testing.T, c client.Claim, reasons ...string) {
	t.Helper()
	var got client.Claim
	eventually(t, "the claim on "+c.Asset+" is lost", func() bool {
		var err error
		got, err = h.client.GetClaim(t.Context(), c.ID)
		return err == nil && got.Status == client.StatusLost
	})
	if got.Reason == nil || !slices.Contains(reasons, *got.Reason) {
		t.Errorf("the claim on %s is %s, want one of %v", c.Asset, describe(got), reasons)
	}
}

func describe(c client.Claim) string {
	reason := "no reason"
	if c.Reason != nil {
		reason = *c.Reason
	}
	return fmt.Sprintf("%s (%s) with token %d", c.Status, reason, c.Token)
}
