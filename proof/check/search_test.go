// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"math/rand/v2"
	"testing"
)

// TestASearchFindsWhatPorcupineFinds: of many registers without losses, right and wrong ones, both say the same.
func TestASearchFindsWhatPorcupineFinds(t *testing.T) {
	t.Parallel()
	said := map[verdict]int{}
	for seed := range uint64(3000) {
		ops := lived(rand.New(rand.NewPCG(seed, 1)))
		for _, relaxed := range []string{"", "G2", "G5"} {
			want, got := linearizable(ops, relaxed), search(ops, relaxed)
			if got != want {
				t.Fatalf("seed %d without %q: %d, and porcupine says %d", seed, relaxed, got, want)
			}
			said[got]++
		}
	}
	if said[explained] < 1000 || said[unexplained] < 1000 || said[givenUp] > 0 {
		t.Errorf("it is %v: too few of one kind", said)
	}
}

// lived are the ops of a register, each with its answer; half of the registers have one wrong answer.
func lived(r *rand.Rand) (ops []*op) {
	m := newModel("")
	now, token := register{}, int64(0)
	flow := [][2]string{{"online", offline}, {"online", online}, {"vuln", examined}, {"assess", risky}, {"assess", finished}}
	for n := range 3 + r.IntN(9) {
		at := int64(100 * n)
		o := &op{begin: at - r.Int64N(250), end: at + r.Int64N(250), token: max(1, token-r.Int64N(2)), step: -1}
		switch r.IntN(9) {
		case 0, 1:
			token++
			o.kind, o.token, o.other, o.ordered = toClaim, token, r.IntN(3) == 0, r.IntN(2) == 0
		case 2, 3, 4:
			f := flow[r.IntN(len(flow))]
			o.kind, o.name, o.to, o.step = toStep, f[0], f[1], place(f[0])
			o.result = f[1] + " facts"
		case 5:
			o.kind, o.name, o.final = toFail, "vuln", r.IntN(5) == 0
		case 6:
			o.kind, o.words = toNotify, "danger"
		case 7:
			o.kind, o.before = toBreak, token
		default:
			o.kind = toSee
		}
		after, code, replayed := now, "", false
		switch o.kind {
		case toSee:
		case toClaim, toBreak:
			all := m.effect(now, o)
			if all == nil {
				continue
			}
			after = all[0]
		default:
			after, code, replayed = m.write(now, o)
		}
		o.code, o.replayed = code, replayed
		if o.maybe = r.IntN(4) == 0 && o.kind != toSee && code == ""; o.maybe {
			if o.end = never; r.IntN(2) == 0 {
				after = now
			}
		}
		all := m.moved(after)
		now = all[r.IntN(len(all))]
		if !o.maybe && code == "" && o.kind != toBreak && !o.other {
			o.view = seenAs(now)
		}
		ops = append(ops, o)
	}
	if len(ops) > 0 && r.IntN(2) == 0 {
		spoilOne(r, ops[r.IntN(len(ops))])
	}
	return ops
}

func place(step string) int {
	for i, name := range steps {
		if name == step {
			return i
		}
	}
	return -1
}

func seenAs(r register) *view {
	return &view{exists: r.exists, state: r.state, run: r.run, token: r.token, steps: r.steps, failed: r.failed, count: r.count, told: r.told}
}

func spoilOne(r *rand.Rand, o *op) {
	switch {
	case o.view != nil && r.IntN(2) == 0:
		o.view.state = []string{initial, online, examined, notified}[r.IntN(4)]
	case o.view != nil:
		o.view.token++
	case o.code != "":
		o.code = ""
	default:
		o.token = max(1, o.token-1)
	}
}
