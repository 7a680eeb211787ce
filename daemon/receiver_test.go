// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// receiver is what the channels lead to. It keeps what it gets.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex // guards what follows
	got    []request
	answer func(channel string, n int) (status int) // to request n on a channel, from 1; nil: 200
}

// request is one that a receiver got.
type request struct {
	channel, key, id string
	body             []byte
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // its sender was killed in the middle
		}
		channel := req.URL.Path[1:]
		r.mu.Lock()
		r.got = append(r.got, request{channel, req.Header.Get("Idempotency-Key"), req.Header.Get("Webhook-Id"), body})
		answer, n := r.answer, 0
		for _, other := range r.got {
			if other.channel == channel {
				n++
			}
		}
		r.mu.Unlock()
		if answer != nil {
			w.WriteHeader(answer(channel, n))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// answers sets what the receiver answers from now on.
func (r *receiver) answers(answer func(channel string, n int) (status int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.got...)
}

// wantRequests demands how many requests came for the ticket, all with one key and the same bytes, which hold title.
func (r *receiver) wantRequests(t *testing.T, n int, title string) {
	t.Helper()
	all := r.requests()
	if len(all) != n {
		t.Errorf("the receiver has got %d requests, want %d", len(all), n)
	}
	for _, one := range all {
		if one.key != `"`+theTicket+`"` || one.id != all[0].id || one.id == "" || !bytes.Equal(one.body, all[0].body) {
			t.Errorf("the receiver has got\n%s %s %s\nand\n%s %s %s", one.key, one.id, one.body, all[0].key, all[0].id, all[0].body)
		}
		if !bytes.Contains(one.body, []byte(`"title":"`+title+`"`)) {
			t.Errorf("the receiver has got %s, want the title %q", one.body, title)
		}
	}
}

// keyOf is the header Idempotency-Key of what is told about an asset.
func keyOf(asset string, run int64) string {
	if run == 1 {
		return fmt.Sprintf("%q", asset+"/"+theTask)
	}
	return fmt.Sprintf("%q", fmt.Sprintf("%s/%s~%d", asset, theTask, run))
}
