// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/load"
)

// TestADaemonIsStruckAsItSends: the one whose request hangs is found, and what comes after it is answered.
func TestADaemonIsStruckAsItSends(t *testing.T) {
	t.Parallel()
	log, err := history.Open(filepath.Join(t.TempDir(), "history"), "nemesis")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r, err := load.Receive("127.0.0.1", log)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	send := func(ctx context.Context, host string) (status int) {
		url := strings.Replace(r.Channels()[1].URL, "HOST", host, 1)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, host := range []string{"host-b", "host-a"} { // the first is not remembered
		found := make(chan string)
		go func() {
			found <- job{field: &field{receivers: r, taken: map[string]bool{}}, Step: Step{Pick: 1}}.hangs(ctx)
		}()
		sending, giveUp := context.WithCancel(ctx)
		defer giveUp()
		go func() {
			for sending.Err() == nil { // until it meets the mood
				send(sending, host)
			}
		}()
		if sender := <-found; sender != host {
			t.Errorf("%q sends, should be %s", sender, host)
		}
		giveUp()
		if status := send(ctx, "host-c"); status/100 != 2 {
			t.Errorf("another is answered %d", status)
		}
	}
}
