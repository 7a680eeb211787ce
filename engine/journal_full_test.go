// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"path/filepath"
	"testing"
)

// TestF26_WhatTheJournalCouldNotWriteIsWrittenLater: a claim that was released while the disk was full is not found at the next start,
// one that was made then is.
func TestF26_WhatTheJournalCouldNotWriteIsWrittenLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _, _, err := openJournal(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-j.keep(record{ID: "released", Asset: "a"})
	<-j.keep(record{ID: "changed", Asset: "a"})
	path := j.db.Path()
	if err := j.db.Close(); err != nil { // so that nothing can be written
		t.Fatal(err)
	}
	<-j.change("released", nil)
	<-j.keep(record{ID: "made", Asset: "b"})
	<-j.keep(record{ID: "changed", Asset: "c"})
	if j.db, _, _, err = readJournal(path); err != nil {
		t.Fatal(err)
	}
	j.running(1 << 40)
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	again, records, stamp, err := openJournal(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if len(records) != 2 || records[0].ID != "changed" || records[0].Asset != "c" || records[1].ID != "made" || stamp != 1<<40 {
		t.Errorf("%s holds %+v of %s", filepath.Base(path), records, stamp)
	}
}
