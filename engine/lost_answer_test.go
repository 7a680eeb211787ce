// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
)

func TestG2_G12_AWriteWhoseAnswerWasLostCountsThoughTheAssetIsTaken(t *testing.T) {
	everywhere(t, takenBeforeTheAnswer)
}

// losesAnswers loses the answer to the first run of a script, and has something happen before it is sent again.
type losesAnswers struct {
	meanwhile func()

	mu     sync.Mutex
	script string // its hash; empty once it was lost
}

func (w *losesAnswers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *losesAnswers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *losesAnswers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); w.is(args) {
			first := redis.NewCmd(ctx, args...)
			first.SetFirstKeyPos(3)
			if next(ctx, first) == nil { // else Redis does not know the script yet, and is sent its text
				w.lose("")
				w.meanwhile()
			}
		}
		return next(ctx, cmd)
	}
}

func (w *losesAnswers) lose(script string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.script = script
}

func (w *losesAnswers) is(args []any) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch args[0] {
	case "evalsha":
		return args[1] == w.script
	case "eval":
		return redis.NewScript(args[1].(string)).Hash() == w.script
	}
	return false
}

// takenBeforeTheAnswer: each write that a claim makes is applied, its answer is lost, and two more claims are granted before it is sent
// again, for another task, or for the same one, and these write, too. It is no stale write: it was applied under the newest grant, and
// is answered, recorded and audited as that, once.
func takenBeforeTheAnswer(t *testing.T, s *shared) {
	writes := map[string]func(*Engine, *Claim) error{
		"step": func(e *Engine, c *Claim) error {
			_, err := e.Step(t.Context(), c.ID, agent, StepRequest{Step: "intel", State: store.VulnCheckDone})
			return err
		},
		"failure": func(e *Engine, c *Claim) error {
			_, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "assess", Error: "timeout"})
			return err
		},
		"notifying": func(e *Engine, c *Claim) error {
			_, err := e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "low"})
			return err
		},
		"finished": func(e *Engine, c *Claim) error {
			_, err := e.Finish(t.Context(), c.ID, agent, "")
			return err
		},
	}
	scripts := map[string]string{"step": "step", "failure": "failure", "notifying": "notify", "finished": "finish"}
	for _, event := range []string{"step", "failure", "notifying"} { // a finished ticket is nobody's
		writes[event+" same task"] = writes[event]
	}
	times := map[string]int{"step": 3, "failure": 1, "notifying": 1, "finished": 1} // with the steps on the way
	for asset, write := range writes {
		event, _, same := strings.Cut(asset, " ")
		f, told := s.fleet(t), &auditLog{}
		b := f.frozen("host-b")
		f.client = s.apart(t)
		hook := &losesAnswers{}
		f.client.AddHook(hook)
		a := f.host("host-a", func(c *Config) { c.Audit = told.add })
		c, _ := claimed(t, a, strings.ReplaceAll(asset, " ", "-"), "t")
		state := store.VulnCheckDone
		if event == "notifying" {
			state = store.HighRiskFound
		}
		advance(t, a, c, state)
		hook.meanwhile = func() {
			task := "t2"
			if same {
				task = "t"
			}
			for range 2 {
				s.Client.Del(t.Context(), a.store.Keys.Lock(c.Ticket.Asset))
				other, _ := claimed(t, b, string(c.Ticket.Asset), task)
				if _, err := b.Fail(t.Context(), other.ID, agent, FailureRequest{Step: "finish", Error: "busy"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		hook.lose(script(scripts[event]).Hash())
		if err := write(a, c); err != nil {
			t.Errorf("%s: applied, and answered with %v", asset, err)
		}
		if hook.is([]any{"evalsha", script(scripts[event]).Hash()}) {
			t.Errorf("%s: its script did not run", asset)
		}
		found, refused := events(t, a, c.Ticket)
		want := times[event]
		if same && event == "failure" { // the other claims'
			want += 2
		}
		if n := len(slices.DeleteFunc(found, func(e string) bool { return e != event })); n != want || len(refused) > 0 {
			t.Errorf("%s: it is %d times in the history, and refused: %v", asset, n, refused)
		}
		written := 0
		for _, one := range told.all() {
			if one.Asset == string(c.Ticket.Asset) && string(one.Kind) == event {
				written++
			}
			if one.Kind == audit.Refused {
				t.Errorf("%s: the audit has it refused: %+v", asset, one)
			}
		}
		if written != times[event] {
			t.Errorf("%s: it is %d times in the audit", asset, written)
		}
	}
}
