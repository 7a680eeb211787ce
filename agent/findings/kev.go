// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// KEV is CISA's catalogue of known exploited vulnerabilities.
type KEV struct {
	cves map[string]struct{}
	date time.Time
}

// OpenKEV reads the catalogue's JSON, gzipped or not, into memory. A catalogue with another number of entries than it says,
// without its date, or of a date that is more than a day ahead is refused.
func OpenKEV(path string) (*KEV, error) {
	k := &KEV{cves: map[string]struct{}{}}
	if err := readIntel(path, k.read); err != nil {
		return nil, fmt.Errorf("cannot read the KEV catalogue %s: %w", path, err)
	}
	return k, nil
}

// Has says whether a CVE is known to be exploited. The id is written as in Finding.
func (k *KEV) Has(cve string) bool {
	_, ok := k.cves[cve]
	return ok
}

// Date returns when the catalogue was released.
func (k *KEV) Date() time.Time { return k.date }

func (k *KEV) read(r io.Reader) error {
	src := newSource(r)
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	var released string
	var count *int
	entries := 0
	err = d.object(fields{
		"dateReleased": d.value(&released),
		"count":        d.value(&count),
		"vulnerabilities": list(d, func(v *struct {
			ID text `json:"cveID"`
		},
		) error {
			cve := cveIn(string(v.ID))
			if cve == "" {
				return fmt.Errorf("its cveID is %q, should be as CVE-2024-3400", plain.Line(string(v.ID), maxID))
			}
			entries++
			k.cves[cve] = struct{}{}
			return over(entries, "entries")
		}),
	})
	if err != nil {
		return err
	}
	if entries == 0 || count == nil {
		return errors.New(`it has no "vulnerabilities" or no "count"; is it CISA's known_exploited_vulnerabilities.json?`)
	}
	if *count != entries {
		return fmt.Errorf("it says that it has %d entries, and has %d: it was cut off or changed", *count, entries)
	}
	if k.date, err = time.Parse(time.RFC3339, released); err != nil {
		return fmt.Errorf("its dateReleased is %q, should be as 2025-08-25T17:04:19Z", plain.Line(released, maxID))
	}
	if err := past(k.date); err != nil {
		return err
	}
	return d.end()
}

// past refuses a date that is more than a day ahead of this host's clock: either is wrong, and then the age says nothing.
func past(date time.Time) error {
	if now := time.Now(); date.After(now.Add(24 * time.Hour)) {
		return fmt.Errorf("its date %s is in the future: here it is %s", date.Format(time.DateOnly), now.UTC().Format(time.DateOnly))
	}
	return nil
}

// readIntel opens a file, unpacks it if it begins as gzip does, and gives it to read.
func readIntel(path string, read func(io.Reader) error) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 64<<10)
	if magic, _ := r.Peek(2); string(magic) != "\x1f\x8b" {
		return read(r)
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("it is damaged gzip: %w", err)
	}
	return read(z)
}
