// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"slices"
	"testing"
)

func TestAHostThatIsLostStaysSo(t *testing.T) {
	s, _ := setup(t, "standalone", calm)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	lost := s.Hosts[1]
	beside := lost.Command("sleep", "1000")
	if err := beside.Start(); err != nil {
		t.Fatal(err)
	}
	if err := lost.Lose(ctx); err != nil {
		t.Fatal(err)
	}
	if err := beside.Wait(); err == nil {
		t.Error("what ran beside the daemon ended well")
	}
	if err := s.Mend(ctx); err != nil {
		t.Fatal(err)
	}
	if err := lost.Start(ctx); err != nil || lost.Running() {
		t.Errorf("a host that is lost was started: %v", err)
	}
	if living := s.Living(); slices.Contains(living, lost) || len(living) != len(s.Hosts)-1 || !living[0].Running() || !living[1].Running() {
		t.Errorf("%d hosts live", len(living))
	}
}
