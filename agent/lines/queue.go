// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lines

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// queueRoom is how much a queue may hold of what can be left out, in bytes.
const queueRoom = 1 << 20

// Queue does one thing after the other in a goroutine of its own, so that a reader who does not read, a full terminal and a
// journal that stands still hold no work. The goroutine ends with the process: it may be held for ever.
type Queue struct {
	mu    sync.Mutex // guards what follows
	items []queued
	room  int
	busy  bool
	moved chan struct{} // closes when something was done
}

type queued struct {
	size int
	do   func()
}

// NewQueue makes an empty queue.
func NewQueue() *Queue { return &Queue{room: queueRoom, moved: make(chan struct{})} }

// Try takes something of that many bytes, if there is room.
func (q *Queue) Try(size int, do func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if size > q.room {
		return false
	}
	q.room -= size
	q.add(queued{size, do})
	return true
}

// Do takes something that must not be left out.
func (q *Queue) Do(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(queued{0, do})
}

func (q *Queue) add(one queued) {
	q.items = append(q.items, one)
	if !q.busy {
		q.busy = true
		go q.work()
	}
}

func (q *Queue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) > 0 {
		one := q.items[0]
		q.items[0] = queued{}
		q.items = q.items[1:]
		q.mu.Unlock()
		one.do()
		q.mu.Lock()
		q.room += one.size
		close(q.moved)
		q.moved = make(chan struct{})
	}
	q.items, q.busy = nil, false
}

// Drain waits until all is done, or nothing has moved for as long as patience says. It asks that again when one of the
// channels closes.
func (q *Queue) Drain(patience func() time.Duration, first, second <-chan struct{}) bool {
	for {
		q.mu.Lock()
		busy, moved := q.busy, q.moved
		q.mu.Unlock()
		if !busy {
			return true
		}
		timer := time.NewTimer(patience())
		select {
		case <-moved:
		case <-first:
			first = nil
		case <-second:
			second = nil
		case <-timer.C:
			return false
		}
		timer.Stop()
	}
}

// Writer writes to w in the background. Each Write is taken whole; one for which there is no room is left out, and how many
// were is said before the next.
func (q *Queue) Writer(w io.Writer) io.Writer { return &queueWriter{q: q, w: w} }

type queueWriter struct {
	q *Queue
	w io.Writer

	mu      sync.Mutex // guards what follows
	leftOut int
}

// Write never fails: what is written here is read by people, and is worth no more than that.
func (w *queueWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(b)
	if w.leftOut > 0 {
		text = fmt.Sprintf("picket: %d lines were left out here, because nobody read them\n", w.leftOut) + text
	}
	if !w.q.Try(len(text), func() { _, _ = io.WriteString(w.w, text) }) {
		w.leftOut++
	} else {
		w.leftOut = 0
	}
	return len(b), nil
}
