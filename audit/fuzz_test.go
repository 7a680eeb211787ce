// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"bytes"
	"testing"
	"time"
)

// FuzzLines: whatever a log holds, what is taken from it are records with a number and a time, that can be verified and told.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"PICKET_TIME":"2026-12-01T06:17:28.04Z","PICKET_SEQ":"112","PICKET_EVENT":"finished","PICKET_RUN":"R","PICKET_ASSET":"web-01","PICKET_TOKEN":"7","PICKET_AGENT_PID":"1","PICKET_AGENT_UID":"0"}` + "\n" +
		`{"PICKET_TIME":"2026-12-01T06:17:29Z","PICKET_SEQ":"114","PICKET_EVENT":"dropped","PICKET_RUN":"R","_UID":"0"}` + "\n"))
	f.Add([]byte(`{"PICKET_EVENT":[112,0,255],"PICKET_SEQ":["1",null],"PICKET_TIME":null}` + "\nnot a record\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		told := 0
		r := NewReader(func(error) { told++ })
		v := NewVerifier(time.Time{}, true)
		for record, err := range r.Lines(bytes.NewReader(log), "the log") {
			if err != nil {
				t.Fatalf("a log in memory cannot be read: %v", err)
			}
			if record.Seq < 1 || record.Time.IsZero() {
				t.Fatalf("no record: %+v", record)
			}
			_ = (&Filter{Refused: true}).Matches(record)
			v.Add(record)
		}
		if told != r.Bad {
			t.Fatalf("%d are bad, and %d were told", r.Bad, told)
		}
		for _, run := range v.Runs() {
			if run.Whole() != (len(run.Missing)+len(run.Gone)+len(run.Twice) == 0) {
				t.Fatalf("not whole and whole: %+v", run)
			}
		}
	})
}
