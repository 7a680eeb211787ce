// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// TestEachWriteTellsHowTheTicketStands, its own and the one that it writes beside it.
func TestEachWriteTellsHowTheTicketStands(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s, id, by := over(t, c), ID("a/b", "t"), Writer{Nonce: "n1", Agent: "1/0"}
	stands := func(id TicketID, want string) {
		t.Helper()
		is, risk := s.index.touched[id], "?"
		if is.HighRisk != nil {
			risk = flag(*is.HighRisk)
		}
		if got := fmt.Sprintf("%s run %d revision %d failed %t risk %s", is.State, is.Run, is.Revision, is.Failed, risk); got != want {
			t.Errorf("%s stands as %s, want %s", id, got, want)
		}
		h, err := s.Read(t.Context(), id)
		if err != nil || !h.Updated().Equal(is.UpdatedAt) {
			t.Errorf("%s stands as of %s, was written at %s, %v", id, is.UpdatedAt, h.Updated(), err)
		}
	}
	mint := func(id TicketID, nonce string) {
		t.Helper()
		by.Nonce = nonce
		if err := c.Set(t.Context(), s.Keys.Lock(id.Asset), nonce, 0).Err(); err != nil {
			t.Fatal(err)
		}
		m, err := s.Mint(t.Context(), id, by, AssetInference)
		if err != nil || m.Code != OK {
			t.Fatalf("minted: %d, %v", m.Code, err)
		}
		by.Token = m.Token
	}
	write := func(w ClaimWrite, err error) {
		t.Helper()
		by.Number++
		if err == nil {
			_, err = s.WriteClaim(t.Context(), id, by, w, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	step := func(name string, to State, facts string) {
		t.Helper()
		write(s.Step(AssetInference, by.Token, name, to, json.RawMessage(facts), ""))
	}
	mint(id, "n1")
	stands(id, "INIT run 1 revision 1 failed false risk ?")
	write(s.Fail(AssetInference, "online", "no answer", false))
	stands(id, "INIT run 1 revision 2 failed true risk ?")
	step("online", AssetOnline, `{}`)
	stands(id, "ASSET_ONLINE run 1 revision 3 failed false risk ?")
	step("vuln", VulnCheckDone, `{"high_risk":true}`)
	stands(id, "VULN_CHECK_DONE run 1 revision 4 failed false risk ?")
	step("assess", Finished, `{}`)
	stands(id, "FINISHED run 1 revision 5 failed false risk 0")
	seen, err := s.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	// One that comes when lists may be marked again is too late.
	if w, err := s.Reopen(t.Context(), id, Writer{Nonce: "r", Agent: "1/0"}, seen, time.Now().Add(-time.Second), "again"); err != nil || w.Code != Conflict {
		t.Fatalf("%v, %v", w.Code, err)
	}
	stands(id, "FINISHED run 1 revision 5 failed false risk 0")
	if _, err := s.Reopen(t.Context(), id, Writer{Nonce: "r", Agent: "1/0"}, seen, time.Now().Add(time.Minute), "again"); err != nil {
		t.Fatal(err)
	}
	stands(id, "INIT run 2 revision 6 failed false risk ?")
	mint(id, "n2")
	write(s.Fail(AssetInference, "online", "no such host", true))
	stands(id, "FAILED run 2 revision 8 failed true risk ?")

	other := ID(id.Asset, "u")
	mint(other, "n3")
	stands(other, "INIT run 1 revision 1 failed false risk ?")
	stands(id, "FAILED run 2 revision 9 failed true risk ?") // its claim has ended
	if seen, err = s.Read(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Break(t.Context(), id.Asset, Writer{Nonce: "b", Agent: "1/0"}, seen, "it hangs"); err != nil {
		t.Fatal(err)
	}
	stands(other, "INIT run 1 revision 2 failed false risk ?")
}

func TestTheRiskIsWhatTheAssessmentSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step  string
		to    State
		facts string
		want  string
	}{
		{"assess", HighRiskFound, `{}`, "1"},
		{"assess", HighRiskFound, `{"high_risk":false}`, "1"},
		{"assess", Finished, `{}`, "0"},
		{"assess", Finished, `{"high_risk":true}`, "1"},
		{"assess", Finished, `{"high_risk":"true"}`, "0"},
		{"vuln", VulnCheckDone, `{"high_risk":true}`, ""},
		{"online", AssetOffline, `{}`, ""},
	} {
		if got := AssetInference.risk(c.step, c.to, json.RawMessage(c.facts)); got != c.want {
			t.Errorf("%s to %s with %s: got %q, want %q", c.step, c.to, c.facts, got, c.want)
		}
	}
}
