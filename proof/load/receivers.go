// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/stage"
)

// Moods are how a receiver may behave, the good one first.
var Moods = []string{
	"ok",     // takes it, and answers 2xx
	"slow",   // the same, after up to 3 s
	"hang",   // takes it and never answers
	"unread", // resets the connection before it has read the body
	"reset",  // takes it, and resets the connection
	"fail",   // answers 500
	"busy",   // answers 429 with a Retry-After of 1 s
	"lie",    // takes it and answers 500, or what is no HTTP
	"gone",   // refuses it for good, with 404 or 410
	"moved",  // answers 302, which is as good
}

const (
	longestHang = 30 * time.Second
	sendTimeout = 2 * time.Second // of a channel
	once        = "once"          // the channel that is at_most_once
)

// channels are the names of all.
var channels = []string{"ops", once}

// Receivers answer on all channels.
type Receivers struct {
	log    *history.Log
	server *http.Server
	addr   string
	done   chan struct{} // closed by Close

	mu    sync.Mutex // guards what follows
	moods map[string]string
	hangs map[string]string  // by channel: whose request came last of those that are never answered
	taken map[[2]string]bool // by channel and key: its body was read, and not refused with a true answer
}

// Receive listens on an address, on a port of its own.
func Receive(address string, log *history.Log) (*Receivers, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, fmt.Errorf("cannot listen for notifications: %w", err)
	}
	r := &Receivers{
		log: log.As("receiver"), addr: listener.Addr().String(), done: make(chan struct{}),
		moods: map[string]string{}, hangs: map[string]string{}, taken: map[[2]string]bool{},
	}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve)}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// Close stops listening and closes all connections.
func (r *Receivers) Close() {
	close(r.done)
	_ = r.server.Close()
}

// Channels lead here. On the second one people are told at most once.
func (r *Receivers) Channels() []stage.Channel {
	var all []stage.Channel
	for _, name := range channels {
		url := fmt.Sprintf("http://%s/%s/HOST", r.addr, name)
		all = append(all, stage.Channel{Name: name, URL: url, AtMostOnce: name == once, Timeout: sendTimeout})
	}
	return all
}

// Mood has a channel's receiver behave otherwise from now on.
func (r *Receivers) Mood(channel, mood string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moods[channel] = mood
}

// Hangs returns the host whose request on a channel hangs, and forgets it; empty: there is none.
func (r *Receivers) Hangs(channel string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	host := r.hangs[channel]
	delete(r.hangs, channel)
	return host
}

// Has reports whether a notification arrived, whatever was answered.
func (r *Receivers) Has(channel, key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken[[2]string{channel, key}]
}

func (r *Receivers) take(channel, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[[2]string{channel, key}] = true
}

func (r *Receivers) hang(channel, host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hangs[channel] = host
}

func (r *Receivers) serve(w http.ResponseWriter, req *http.Request) {
	channel, host, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	s := &history.Sending{Channel: channel, Host: host, Key: req.Header.Get("Idempotency-Key"), Begin: history.Now()}
	s.Stamp, _ = strconv.ParseInt(req.Header.Get("Webhook-Timestamp"), 10, 64)
	r.mu.Lock()
	mood := r.moods[channel]
	r.mu.Unlock()
	if mood == "unread" {
		r.reset(w, s, "")
		return
	}
	b, err := io.ReadAll(req.Body)
	if err != nil { // its sender gave up in the middle
		r.log.Write(history.Record{Sending: s})
		return
	}
	describe(s, b)
	switch mood {
	case "fail":
		r.answer(w, s, http.StatusInternalServerError)
		return
	case "busy":
		w.Header().Set("Retry-After", "1")
		r.answer(w, s, http.StatusTooManyRequests)
		return
	case "gone":
		r.answer(w, s, []int{http.StatusNotFound, http.StatusGone}[rand.IntN(2)])
		return
	case "moved":
		w.Header().Set("Location", "http://"+r.addr+"/elsewhere/"+host)
		r.answer(w, s, http.StatusFound)
		return
	}
	r.take(channel, s.Key)
	long := rand.N(100 * time.Millisecond)
	if rand.IntN(6) == 0 {
		long = rand.N(1400 * time.Millisecond) // so that others come while it is sent
	}
	switch mood {
	case "slow":
		long = rand.N(3 * time.Second)
	case "hang":
		long = longestHang
		r.hang(channel, host)
	}
	select {
	case <-time.After(long):
	case <-req.Context().Done():
		r.log.Write(history.Record{Sending: s})
		return
	case <-r.done:
	}
	switch {
	case mood == "hang", mood == "reset":
		r.reset(w, s, "")
	case mood == "lie" && rand.IntN(2) == 0:
		r.reset(w, s, "what is no HTTP\r\n\r\n")
	case mood == "lie":
		r.answer(w, s, http.StatusInternalServerError)
	default:
		r.answer(w, s, []int{http.StatusOK, http.StatusAccepted, http.StatusNoContent}[rand.IntN(3)])
	}
}

func describe(s *history.Sending, b []byte) {
	sum := sha256.Sum256(b)
	s.Digest = hex.EncodeToString(sum[:])
	var told struct {
		Data struct {
			history.Told
			Title, Asset, Task string
			Run                int64
		}
	}
	_ = json.Unmarshal(b, &told) // what is in another form has no title, and the digest tells
	s.Title, s.Asset, s.Task, s.Run, s.Told = told.Data.Title, told.Data.Asset, told.Data.Task, told.Data.Run, &told.Data.Told
}

// answer writes the sending down before its sender can know of the answer.
func (r *Receivers) answer(w http.ResponseWriter, s *history.Sending, status int) {
	s.Status = status
	r.log.Write(history.Record{Sending: s})
	w.WriteHeader(status)
}

// reset ends the connection with a reset, after some last words.
func (r *Receivers) reset(w http.ResponseWriter, s *history.Sending, words string) {
	r.log.Write(history.Record{Sending: s})
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if words == "" {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	_, _ = conn.Write([]byte(words))
	_ = conn.Close()
}
