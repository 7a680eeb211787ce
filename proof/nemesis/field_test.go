// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

func TestWhatOneFaultHasInHandNoOtherTouches(t *testing.T) {
	t.Parallel()
	j := job{field: &field{taken: map[string]bool{}}, Step: Step{Pick: 4}}
	alone := func(name string) []string { return []string{name} }
	pick := func() (string, func()) {
		name, give, found := choose(j, []string{"a", "b", "c"}, alone)
		if !found {
			return "", nil
		}
		return name, give
	}
	one, give := pick()
	two, _ := pick()
	three, _ := pick()
	if none, _ := pick(); one != "b" || two != "c" || three != "a" || none != "" {
		t.Errorf("chosen are %q, %q, %q, and then %q; want b, which is picked, c, a, and none", one, two, three, none)
	}
	if _, taken := j.take("d", "a"); taken {
		t.Error("two things were taken, one of which another has in hand")
	}
	if _, taken := j.take("d"); !taken {
		t.Error("what was refused with another thing is not free")
	}
	give()
	if again, _ := pick(); again != "b" {
		t.Errorf("%q is chosen after b was given back", again)
	}
}

// TestAFaultIsEnded: whatever its beginning says, and when nobody waits any more; and it is written down.
func TestAFaultIsEnded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	log, err := history.Open(path, "nemesis")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	kind := &Fault{Name: "older dump", Loses: true}
	j := job{&field{log: log}, Step{ID: 7, Fault: kind.Name, Long: time.Hour}, kind}
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err = j.strike(ctx, blow{
		target: "redis-1",
		begin: func(context.Context) error {
			cancel()
			return errors.New("it is away")
		},
		end: func(ctx context.Context) error {
			if tries++; tries < 3 {
				return errors.New("not yet")
			}
			return ctx.Err()
		},
	})
	if err != nil || tries != 3 {
		t.Errorf("it was ended at the try %d: %v", tries, err)
	}
	all, err := history.ReadFile(path)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	begin, end := *all[0].Fault, *all[1].Fault
	want := history.Fault{ID: 7, Name: "older dump", Target: "redis-1", Loses: true}
	if begin != want {
		t.Errorf("its beginning is %+v", begin)
	}
	if want.End, want.Detail = true, "at its beginning: it is away"; end != want {
		t.Errorf("its end is %+v", end)
	}
}
