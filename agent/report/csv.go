// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// CSV writes every row as it comes: one table, with the section in its first column.
type CSV struct{ w *csv.Writer }

// NewCSV begins with the names of the columns.
func NewCSV(w io.Writer) (*CSV, error) {
	c := &CSV{csv.NewWriter(w)}
	return c, c.write([]string{
		"section", "asset", "severity", "cvss", "id", "title", "package", "location", "fixed_in", "kev", "epss", "aliases", "url",
		"was", "reason", "until", "by", "step", "error",
	})
}

// Row writes a row.
func (c *CSV) Row(row Row) error {
	cells := make([]string, 19)
	cells[0], cells[1] = row.Section, row.Asset
	if f := row.Finding; f != nil {
		copy(cells[2:], []string{
			f.Severity, score(f.CVSS), f.ID, f.Title, f.Package, f.Location, f.FixedIn, strconv.FormatBool(f.KEV), score(f.EPSS),
			strings.Join(f.Aliases, " "), f.URL, f.Difference(),
		})
		if a := f.Acceptance; a != nil {
			copy(cells[14:], []string{a.Reason, a.Until, a.By})
		}
	}
	cells[17], cells[18] = row.Step, row.Why
	return c.write(cells)
}

func (c *CSV) write(cells []string) error {
	for i, cell := range cells {
		cells[i] = harmless(cell)
	}
	if err := c.w.Write(cells); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// Flush writes what is still held back.
func (c *CSV) Flush() error {
	c.w.Flush()
	if err := c.w.Error(); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// formula is with what a spreadsheet takes a cell for a formula, in the wide forms too (OWASP, CSV Injection); plain.Line takes tabs
// and carriage returns away.
const formula = "=+-@＝＋－＠"

// harmless is a cell of one line that no spreadsheet computes.
func harmless(cell string) string {
	if cell = plain.Line(cell, 0); cell != "" && strings.ContainsRune(formula, []rune(cell)[0]) {
		return "'" + cell
	}
	return cell
}

// score is a figure as people write it; "" for none.
func score(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
