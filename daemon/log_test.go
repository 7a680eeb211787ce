// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bufio"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// TestF27_ALogThatNobodyReadsHoldsUpNobody, be it a pipe or, as under systemd, a stream to journald.
func TestF27_ALogThatNobodyReadsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (ends [2]int, err error){
		"pipe": func() (ends [2]int, err error) { err = unix.Pipe2(ends[:], unix.O_CLOEXEC); return ends, err },
		"stream": func() (ends [2]int, err error) {
			return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends, err := open()
			if err != nil {
				t.Fatal(err)
			}
			reader, writer := os.NewFile(uintptr(ends[0]), "reader"), os.NewFile(uintptr(ends[1]), "writer")
			defer reader.Close()
			defer writer.Close()
			log := NewLogger(writer)
			const lines = 20_000
			logged := make(chan struct{})
			go func() {
				defer close(logged)
				for range lines {
					log.Info("nobody reads this", "padding", strings.Repeat("x", 100))
				}
			}()
			select {
			case <-logged:
			case <-time.After(time.Minute):
				reader.Close() // so that the writer ends
				t.Fatal("the logger waits for a reader")
			}
			read, seen := bufio.NewScanner(reader), 0
			for read.Scan() {
				if seen++; seen == 10 {
					break
				}
			}
			told := make(chan bool)
			go func() {
				for read.Scan() {
					if strings.Contains(read.Text(), `"MESSAGE":"lines of this log were dropped, because nobody read it","PICKET_LINES":`) {
						told <- true
						return
					}
				}
				told <- false
			}()
			for deadline := time.After(time.Minute); ; {
				log.Info("is somebody there?")
				select {
				case ok := <-told:
					if !ok {
						t.Error("the lines that were dropped are not told of")
					}
					return
				case <-deadline:
					t.Fatal("the lines that were dropped are not told of")
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
}

// TestG9_ALineThatIsDroppedIsNoReceipt: a channel of type log has told nobody while nobody reads the log.
func TestG9_ALineThatIsDroppedIsNoReceipt(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	for name, log := range map[string]*slog.Logger{"json": NewLogger(writer), "journal": slog.New(newPriorityHandler(&lossyWriter{file: writer}))} {
		c, problems := channel.New(channel.Config{Name: "local", Type: "log"}, channel.Env{Logger: log})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		body, err := c.Render(channel.Message{Ticket: "web-01/w48", Severity: "critical", Title: strings.Repeat("x", 100)})
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		r := channel.Result{Status: outbox.Sent}
		for ; sent < 10_000 && r.Status == outbox.Sent; sent++ {
			r = c.Send(t.Context(), channel.Delivery{Body: body})
		}
		if r.Status != outbox.Pending || !strings.Contains(r.Error, "dropped") {
			t.Errorf("%s: after %d lines that nobody reads: %+v", name, sent, r)
		}
	}
}
