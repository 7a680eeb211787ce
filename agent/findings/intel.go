// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// maxRows bounds the table of scores. There were about 300,000 CVEs in 2026.
const maxRows = 5_000_000

// EPSS is a day's table of the Exploit Prediction Scoring System (https://www.first.org/epss/data_stats).
type EPSS struct {
	rows []epssRow // sorted
	date time.Time
}

// epssRow takes 16 bytes, so that 300,000 of them take 5 MB.
type epssRow struct {
	cve   uint64 // year and number
	score float64
}

// OpenEPSS reads the table, CSV, gzipped or not, into memory. A row that is none, a score that is no probability, a date that
// is more than a day ahead and a file that was cut off are refused, with the line.
func OpenEPSS(path string) (*EPSS, error) {
	e := &EPSS{}
	if err := readIntel(path, e.read); err != nil {
		return nil, fmt.Errorf("cannot read the EPSS scores %s: %w", path, err)
	}
	return e, nil
}

// Score returns the probability, 0 to 1, that a CVE is exploited within 30 days of the table's date, and whether the table
// has it. The id is written as in Finding.
func (e *EPSS) Score(cve string) (float64, bool) {
	key, ok := packCVE(cve)
	if !ok {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(e.rows, key, func(r epssRow, key uint64) int { return cmp.Compare(r.cve, key) })
	if !found {
		return 0, false
	}
	return e.rows[i].score, true
}

// Date returns the day that the scores are of.
func (e *EPSS) Date() time.Time { return e.date }

// packCVE puts a CVE into one number: its year above 48 bits of its own number.
func packCVE(cve string) (uint64, bool) {
	year, number, ok := strings.Cut(strings.TrimPrefix(cve, "CVE-"), "-")
	y, err := strconv.ParseUint(year, 10, 16)
	n, err2 := strconv.ParseUint(number, 10, 48)
	return y<<48 | n, ok && err == nil && err2 == nil && strings.HasPrefix(cve, "CVE-")
}

func (e *EPSS) read(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		b, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF && len(b) == 0:
			return e.finish(n)
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("it ends in the middle of line %d: it was cut off", n)
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("line %d is longer than 64 KiB", n)
		case errors.Is(err, gzip.ErrChecksum):
			return fmt.Errorf("it is damaged gzip: %w", err)
		case err != nil:
			return err
		}
		text := strings.TrimRight(string(b), "\r\n")
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if err := e.line(n, text); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// line takes the comment, then the header, then the rows.
func (e *EPSS) line(n int, text string) error {
	switch n {
	case 1:
		_, date, _ := strings.Cut(text, "score_date:")
		date, _, _ = strings.Cut(date, ",")
		for _, layout := range []string{"2006-01-02T15:04:05-0700", time.RFC3339, time.DateOnly} {
			if t, err := time.Parse(layout, strings.TrimSpace(date)); err == nil && strings.HasPrefix(text, "#") {
				e.date = t
				return past(t)
			}
		}
		return errors.New("should be as #model_version:v2025.03.14,score_date:2026-11-20T00:00:00+0000")
	case 2:
		if text != "cve,epss,percentile" {
			return errors.New("should be cve,epss,percentile")
		}
		return nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return fmt.Errorf("has %d fields, should have 3: cve,epss,percentile", len(parts))
	}
	cve, ok := packCVE(parts[0])
	if !ok {
		return fmt.Errorf("%q is no CVE, should be as CVE-2024-3400", plain.Line(parts[0], maxID))
	}
	for _, part := range parts[1:] {
		if p, err := strconv.ParseFloat(part, 64); err != nil || !(p >= 0 && p <= 1) {
			return fmt.Errorf("%q is no probability, should be from 0 to 1", plain.Line(part, maxID))
		}
	}
	if len(e.rows) == maxRows {
		return fmt.Errorf("the number of rows %w of %d", errLimit, maxRows)
	}
	score, _ := strconv.ParseFloat(parts[1], 64)
	e.rows = append(e.rows, epssRow{cve, score})
	return nil
}

// finish is called at the end, before line n.
func (e *EPSS) finish(n int) error {
	if len(e.rows) == 0 {
		return fmt.Errorf("it has %d lines and no scores", n-1)
	}
	slices.SortFunc(e.rows, func(a, b epssRow) int { return cmp.Compare(a.cve, b.cve) })
	for i := 1; i < len(e.rows); i++ {
		if c := e.rows[i].cve; c == e.rows[i-1].cve {
			return fmt.Errorf("it has CVE-%d-%04d twice", c>>48, c&(1<<48-1))
		}
	}
	e.rows = slices.Clip(slices.Clone(e.rows)) // without what growing left over
	return nil
}

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
