// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/picketd/picket/proof/check"
	"github.com/picketd/picket/proof/draw"
	"github.com/picketd/picket/proof/history"
)

var errOneFile = errors.New("name one file, a " + historyFile)

// checkFile checks a history that was made before.
func checkFile(_ context.Context, args []string) (bool, error) {
	if len(args) != 1 {
		return false, errOneFile
	}
	records, err := history.ReadFile(args[0])
	if err != nil {
		return false, err
	}
	r := &result{Report: check.Check(records)}
	for _, one := range records {
		if one.Setup != nil {
			r.Setup = *one.Setup
		}
	}
	r.print(os.Stdout)
	return len(r.Violations) == 0, show(filepath.Dir(args[0]), records, r.Violations)
}

// drawFile draws a whole history in a page beside it.
func drawFile(_ context.Context, args []string) (bool, error) {
	if len(args) != 1 {
		return false, errOneFile
	}
	records, err := history.ReadFile(args[0])
	if err != nil {
		return false, err
	}
	page := strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".html"
	if err := drawTo(page, records, nil); err != nil {
		return false, err
	}
	fmt.Println("drawn in", page)
	return true, nil
}

// show leaves the first violation in dir, cut down to what shows it, as records and as a page.
func show(dir string, records []history.Record, violations []check.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	short := check.Shrink(records, violations[0])
	f, err := os.Create(filepath.Join(dir, shortFile))
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	for _, r := range short {
		err = errors.Join(err, lines.Encode(r))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	page := filepath.Join(dir, pageFile)
	fmt.Printf("the first violation is drawn in %s, from the %d of %d records that show it\n", page, len(short), len(records))
	return drawTo(page, short, check.Check(short).Violations)
}

func drawTo(page string, records []history.Record, violations []check.Violation) error {
	f, err := os.Create(page)
	if err != nil {
		return err
	}
	return errors.Join(draw.HTML(f, records, violations), f.Close())
}
