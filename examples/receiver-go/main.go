// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command receiver-go takes Picket's webhooks and handles each notification once, also over restarts:
//
//	receiver-go ADDRESS SECRET_FILE LEDGER
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	secret, err := os.ReadFile(os.Args[2])
	check(err)
	hook, err := standardwebhooks.NewWebhook(strings.TrimSpace(string(secret)))
	check(err)
	done, err := open(os.Args[3])
	check(err)
	http.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var message struct{ Data struct{ Title string } }
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err == nil {
			err = hook.Verify(body, r.Header)
		}
		switch {
		case errors.Is(err, standardwebhooks.ErrMessageTooOld), errors.Is(err, standardwebhooks.ErrMessageTooNew),
			errors.Is(err, standardwebhooks.ErrNoMatchingSignature): // a clock or a secret that a person can mend: it must come again
			w.Header().Set("Retry-After", "60")
			http.Error(w, "the clock or the secret differs: "+err.Error(), http.StatusServiceUnavailable)
			return
		case err != nil || json.Unmarshal(body, &message) != nil:
			http.Error(w, "not a signed notification", http.StatusBadRequest)
			return
		}
		if err := done.handle(r.Header.Get("webhook-id"), message.Data.Title); err != nil {
			log.Print(err)
			http.Error(w, "cannot write the ledger", http.StatusServiceUnavailable)
		} // else 200, also for what was handled before: it must not come again
	})
	listener, err := net.Listen("tcp", os.Args[1])
	check(err)
	fmt.Println("http://" + listener.Addr().String())
	server := &http.Server{ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second}
	check(server.Serve(listener))
}

// ledger has a line for each notification that was handled: its id and its title. The line is both what is done with it and the
// memory of its id, so neither can be lost without the other. A line without its end counts for nothing.
type ledger struct {
	mu   sync.Mutex
	file *os.File
	size int64 // of the whole lines
	seen map[string]bool
}

func open(name string) (*ledger, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	whole := all[:bytes.LastIndexByte(all, '\n')+1]
	l := &ledger{file: file, size: int64(len(whole)), seen: map[string]bool{}}
	for line := range bytes.Lines(whole) {
		id, _, _ := bytes.Cut(line, []byte(" "))
		l.seen[string(id)] = true
	}
	return l, errors.Join(file.Truncate(l.size), file.Sync()) // what a crash or a full disk tore off was not handled
}

func (l *ledger) handle(id, title string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[id] {
		return nil
	}
	line := fmt.Appendf(nil, "%s %q\n", id, title)
	_, err := l.file.WriteAt(line, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		if cut := errors.Join(l.file.Truncate(l.size), l.file.Sync()); cut != nil {
			log.Fatal(cut) // unanswered, so it comes again; the ledger is read anew
		}
		return err
	}
	l.size += int64(len(line))
	l.seen[id] = true
	return nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
