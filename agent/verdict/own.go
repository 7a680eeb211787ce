// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/picketd/picket/agent/plain"
)

// The API's limits on what is recorded, in bytes.
const (
	MaxFacts   = 512 << 10
	MaxSummary = 4 << 10 // also on errors
)

// Record is what a step has come to, as it is recorded, and the form in which a command says it.
type Record struct {
	State   string          `json:"state"`
	Facts   json.RawMessage `json:"facts"`
	Summary string          `json:"summary"`
}

// errFactsTooLarge says that the API would not take the facts.
var errFactsTooLarge = fmt.Errorf("it is too large: its facts have more than %d KiB", MaxFacts>>10)

// ReadOwn reads Picket's own form: one object, and nothing behind it. Who calls bounds what r holds.
func ReadOwn(r io.Reader) (Record, error) {
	const form = `{"state": …, "facts": {…}, "summary": …}`
	doc, err := io.ReadAll(r)
	if err != nil {
		return Record{}, err
	}
	if len(bytes.TrimSpace(doc)) == 0 {
		return Record{}, fmt.Errorf("it is empty: %s is needed", form)
	}
	var out Record
	var m members
	err = resultForm.check(doc)
	if err == nil && json.Unmarshal(doc, &m) != nil {
		err = errors.New("it is no object")
	}
	out.Facts = m["facts"]
	if err == nil {
		err = cmp.Or(m.member("state", &out.State, "text"), m.member("summary", &out.Summary, "text"))
	}
	switch {
	case errors.Is(err, errBehind):
		return Record{}, err
	case err != nil:
		return Record{}, fmt.Errorf("it is not %s (%s); for a scanner's own report set parse", form, plain.Line(err.Error(), 0))
	case out.State == "":
		return Record{}, fmt.Errorf("it has no state: %s is needed", form)
	}
	if len(out.Facts) > MaxFacts {
		return Record{}, errFactsTooLarge
	}
	if f := bytes.TrimSpace(out.Facts); len(f) > 0 && f[0] != '{' && string(f) != "null" {
		return Record{}, errors.New("its facts are not an object")
	} else if string(f) == "null" {
		out.Facts = nil
	}
	out.Summary = plain.Line(out.Summary, MaxSummary)
	return out, nil
}
