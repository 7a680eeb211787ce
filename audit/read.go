// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"
)

// journalText is the value of a field in journalctl's JSON: a string, numbers where it has bytes that cannot be printed, null
// where it is too long, and an array of these when the field stands there more than once (journalctl(1), -o json).
type journalText string

func (t *journalText) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = journalText(s)
		return nil
	}
	var numbers []uint16
	if json.Unmarshal(b, &numbers) == nil {
		text := make([]byte, len(numbers))
		for i, n := range numbers {
			text[i] = byte(n)
		}
		*t = journalText(text)
		return nil
	}
	var several []journalText
	if json.Unmarshal(b, &several) == nil && len(several) > 0 {
		*t = several[0]
	}
	return nil // whatever else it is says nothing, and must not spoil the other fields
}

// decodeFields reads a line of JSON. There are none in one that is no record of the audit.
func decodeFields(line []byte) (map[string]journalText, error) {
	var f map[string]journalText
	if err := json.Unmarshal(line, &f); err != nil && bytes.Contains(line, []byte(`"`+eventField+`"`)) {
		return nil, fmt.Errorf("it is not a whole JSON object: %w", err)
	} else if err != nil || f[eventField] == "" {
		return nil, nil //nolint:nilerr // another line of the same log
	}
	return f, nil
}

// decodeRecord makes a record of its fields.
func decodeRecord(f map[string]journalText) (*Record, error) {
	r := &Record{}
	for _, c := range columns {
		c.set(r.value(), string(f[c.name]))
	}
	if r.Seq < 1 {
		return nil, fmt.Errorf("PICKET_SEQ is %q: it must be a number from 1 on", f["PICKET_SEQ"])
	}
	if r.Time.IsZero() {
		return nil, fmt.Errorf("PICKET_TIME of record %d is %q: it must be a time as RFC 3339 has it", r.Seq, f["PICKET_TIME"])
	}
	for _, n := range []*json.Number{&r.AgentPID, &r.AgentUID} {
		i, err := strconv.ParseUint(n.String(), 10, 32)
		if *n = ""; err == nil {
			*n = json.Number(strconv.FormatUint(i, 10))
		}
	}
	return r, nil
}

// Reader reads records that may come from anybody.
type Reader struct {
	Bad       int            // records that cannot be read
	Strangers map[string]int // records that were left out, as they are not the daemon's, by the uid of who wrote them

	trusted []string // the uids whose records count
	tell    func(error)
}

// NewReader believes root, the user that the package makes, and the reader, whose own daemon it may be. tell is told of each record
// that cannot be read; it is passed over.
func NewReader(tell func(error)) *Reader {
	r := &Reader{Strangers: map[string]int{}, trusted: []string{"0", strconv.Itoa(os.Getuid())}, tell: tell}
	if u, err := user.Lookup("picketd"); err == nil {
		r.trusted = append(r.trusted, u.Uid)
	}
	return r
}

// Lines are the records of a log of JSON lines; name is what it is called in errors. Other lines are passed over, and so is who is
// not the daemon, before anything of what it says is looked at.
func (r *Reader) Lines(log io.Reader, name string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		lines := bufio.NewReader(log)
		for n := 1; ; n++ {
			line, end := lines.ReadBytes('\n')
			if end != nil && !errors.Is(end, io.EOF) {
				yield(nil, fmt.Errorf("cannot read %s: %w", name, end))
				return
			}
			record, err := r.decode(line)
			switch {
			case err != nil:
				r.Bad++
				r.tell(fmt.Errorf("%s, line %d: %w", name, n, err))
			case record != nil && !yield(record, nil):
				return
			}
			if end != nil {
				return
			}
		}
	}
}

// decode reads a line; nothing when it is no record, or none that counts.
func (r *Reader) decode(line []byte) (*Record, error) {
	f, err := decodeFields(line)
	switch {
	case f == nil:
		return nil, err
	case !r.trusts(f):
		r.Strangers[string(f["_UID"])]++
		return nil, nil
	}
	return decodeRecord(f)
}

// trusts looks at what journald vouches for: the user, and the unit, by which the export of another host is known, where picketd
// has another uid. Records that were never in a journal have neither.
func (r *Reader) trusts(f map[string]journalText) bool {
	uid, journaled := f["_UID"]
	return !journaled || slices.Contains(r.trusted, string(uid)) || f["_SYSTEMD_UNIT"] == "picketd.service"
}

// eventField is the one by which a record is known.
const eventField = "PICKET_EVENT"

// Filter says which records are wanted.
type Filter struct {
	Like    Record    // has the fields that they must have; one that is empty does not matter
	Refused bool      // only what was refused, but for claims on what another holds, unless Like asks for a code
	Since   time.Time // not before
}

// Matches reports whether a record is wanted.
func (f *Filter) Matches(r *Record) bool {
	like, got := f.Like.value(), r.value()
	for _, c := range columns {
		if want := c.text(like); want != "" && want != c.text(got) {
			return false
		}
	}
	refused := r.Kind == Refusals || r.Kind == Refused && (r.Code != "LOCK_HELD" || f.Like.Code != "")
	return (!f.Refused || refused) && !r.Time.Before(f.Since)
}

// matches are what journalctl is to look for, so that it need not hand over all.
func (f *Filter) matches() []string {
	all := []string{"SYSLOG_IDENTIFIER=" + Identifier}
	f.Like.fields(func(name, value string) { all = append(all, name+"="+value) })
	if f.Refused {
		all = append(all, eventField+"="+string(Refused), eventField+"="+string(Refusals))
	}
	return all
}
