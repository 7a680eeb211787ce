// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
