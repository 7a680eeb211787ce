// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package history

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestManyWriteOneHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	var writing sync.WaitGroup
	for n := range 8 {
		writing.Go(func() {
			log, err := Open(path, fmt.Sprint("writer ", n))
			if err != nil {
				t.Error(err)
				return
			}
			defer log.Close()
			for i := range 100 {
				log.Write(Record{Call: &Call{ID: fmt.Sprint(n, ".", i), Path: strings.Repeat("x", 5000)}})
			}
		})
	}
	writing.Wait()
	all, err := ReadFile(path)
	if err != nil || len(all) != 800 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	ids := map[string]bool{}
	for i, r := range all {
		ids[r.Call.ID] = true
		if i > 0 && r.At < all[i-1].At {
			t.Error("it is not in the order of time")
		}
	}
	if len(ids) != 800 {
		t.Errorf("%d calls", len(ids))
	}
}

func TestALineThatWasCutOffIsLeftOut(t *testing.T) {
	t.Parallel()
	whole := `{"at":1,"by":"a","call":{"id":"1"}}` + "\n"
	for _, rest := range []string{"", `{"at":2,"by":"a","ca`} {
		if all, err := Read(strings.NewReader(whole + rest)); err != nil || len(all) != 1 {
			t.Errorf("%q: %v, %v", rest, all, err)
		}
	}
	if _, err := Read(strings.NewReader("nothing\n" + whole)); err == nil {
		t.Error("a line that is none is read")
	}
}
