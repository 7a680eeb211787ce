// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRecordsAreDecodedAsJSON: cutting a record along its names gives what encoding/json gives.
func TestRecordsAreDecodedAsJSON(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", `"`, `\`, `","token":1,"host":"`, "资产", "<&>", "\u2028", "\n"}))
	rapid.Check(t, func(t *rapid.T) {
		facts, err := encode(rapid.MapOf(text, text).Draw(t, "facts"))
		if err != nil {
			t.Fatal(err)
		}
		record, err := encode(Step{
			State: State(text.Draw(t, "state")), Summary: text.Draw(t, "summary"), Token: rapid.Int64().Draw(t, "token"),
			Host: text.Draw(t, "host"), At: time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "at")).UTC(), Facts: json.RawMessage(facts),
		})
		if err != nil {
			t.Fatal(err)
		}
		var want Step
		if err := json.Unmarshal([]byte(record), &want); err != nil {
			t.Fatal(err)
		}
		if got, err := decodeStep(record); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v\nwant %+v\nof %s", got, err, want, record)
		}
	})
}

func TestRecordsOfAnotherFormAreDecodedToo(t *testing.T) {
	t.Parallel()
	want := Step{
		State: "S", Summary: "s", Token: 7, Host: "h", At: time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC), Facts: json.RawMessage(`{"a":[]}`),
	}
	for _, record := range []string{
		`{"state":"S","summary":"s","token":7,"host":"h","at":"2026-11-29T08:00:00Z","facts":{"a":[]}}`,
		`{"state":"S","facts":{"a":[]},"summary":"s","token":7,"host":"h","at":"2026-11-29T08:00:00Z"}`,
		`{ "state":"S","summary":"\u0073","token":7,"host":"h","at":"2026-11-29T08:00:00Z","facts":{"a":[]} }`,
	} {
		if got, err := decodeStep(record); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", record, got, err)
		}
	}
	for _, record := range []string{"", "{", `{"state":"S","summary":"s","token":x,"host":"h","at":"2026-11-29T08:00:00Z","facts":{}}`} {
		if got, err := decodeStep(record); err == nil {
			t.Errorf("%q: got %+v and no error", record, got)
		}
	}
}

func BenchmarkDecodeStep(b *testing.B) {
	record, err := encode(Step{
		State: VulnCheckDone, Summary: "2 findings", Token: 1795982322433, Host: "scan-01", At: time.UnixMilli(1795982322433).UTC(),
		Facts: json.RawMessage(`{"findings":[{"id":"CVE-2021-44228","severity":"critical"},{"id":"CVE-2022-22965","severity":"critical"}]}`),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("cut", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeStep(record); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var s Step
			if err := json.Unmarshal([]byte(record), &s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
