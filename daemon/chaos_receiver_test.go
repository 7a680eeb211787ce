// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// sendTimeout is the channels' time-out in the chaos over delivery.
const sendTimeout = 2 * time.Second

// sending is one request that the moody receiver got.
type sending struct {
	host, channel, key, body string
	stamp                    time.Time // when its sender signed it, in whole seconds
	begin, end               time.Time // it was on its way at least from begin to end
	status                   int       // that was answered; 0: the sender got no answer, or may not have
}

// late reports whether the sender was held up, or this process was, for so long between signing and sending that the sender has
// given it up and its lease may be over: what no sender can exclude.
func (s *sending) late() bool { return s.begin.Sub(s.stamp) >= sendTimeout }

// moody is a receiver that takes its time, fails, falls silent, and hangs up, by chance. It keeps what it gets. The daemon that
// sends is named in the URL's query.
type moody struct {
	*httptest.Server

	mu   sync.Mutex // guards what follows
	kind bool       // it does no more of that
	got  []*sending
}

func newMoody(t *testing.T) *moody {
	t.Helper()
	m := &moody{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *moody) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // its sender was killed in the middle
	}
	seconds, _ := strconv.ParseInt(req.Header.Get("Webhook-Timestamp"), 10, 64)
	s := &sending{
		host: req.URL.Query().Get("from"), channel: req.URL.Path[1:], key: req.Header.Get("Idempotency-Key"), body: string(body),
		stamp: time.Unix(seconds, 0), begin: time.Now(),
	}
	m.mu.Lock()
	m.got = append(m.got, s)
	kind := m.kind
	m.mu.Unlock()
	long, status := rand.N(300*time.Millisecond), http.StatusOK
	if !kind {
		switch mood := rand.IntN(100); {
		case mood < 10:
			status = http.StatusInternalServerError
		case mood < 14:
			status = http.StatusTooManyRequests
			w.Header().Set("Retry-After", "1")
		case mood < 22:
			status = 0
		case mood < 28:
			long, status = 2*sendTimeout, 0 // no sender that runs waits so long
		}
	}
	gaveUp := false
	select {
	case <-time.After(long):
	case <-req.Context().Done():
		gaveUp, status = true, 0
	}
	m.ended(s, status, gaveUp)
	if status == 0 {
		panic(http.ErrAbortHandler) // hangs up
	}
	w.WriteHeader(status)
}

// ended notes what became of a request before its sender can learn it. That a sender gave up is learnt late: it surely was there
// for most of its time-out, and no longer is taken for granted.
func (m *moody) ended(s *sending, status int, gaveUp bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.status, s.end = status, time.Now()
	if most := s.begin.Add(sendTimeout * 3 / 4); gaveUp && s.end.After(most) {
		s.end = most
	}
}

// calm lets it answer well from now on.
func (m *moody) calm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kind = true
}

// has reports whether anything came on a channel under a key.
func (m *moody) has(channel, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.got {
		if s.channel == channel && s.key == key {
			return true
		}
	}
	return false
}

// all is what came, for one who reads when nothing is sent any more.
func (m *moody) all() []sending {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []sending
	for _, s := range m.got {
		one := *s
		if one.end.IsZero() {
			one.end = one.begin
		}
		all = append(all, one)
	}
	return all
}
