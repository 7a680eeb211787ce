// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command receiver-go takes Picket's webhooks and handles each notification once, also over restarts:
//
//	receiver-go ADDRESS SECRET_FILE LEDGER
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	secret, err := os.ReadFile(os.Args[2])
	check(err)
	hook, err := standardwebhooks.NewWebhook(strings.TrimSpace(string(secret)))
	check(err)
	ledger, err := os.OpenFile(os.Args[3], os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	check(err)
	seen, mu := map[string]bool{}, sync.Mutex{}
	for lines := bufio.NewScanner(ledger); lines.Scan(); {
		id, _, _ := strings.Cut(lines.Text(), " ")
		seen[id] = true
	}
	http.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var message struct{ Data struct{ Title string } }
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil || hook.Verify(body, r.Header) != nil || json.Unmarshal(body, &message) != nil {
			http.Error(w, "not a signed notification", http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("webhook-id")
		if seen[id] {
			return // with 200: it was handled, and must not come again
		}
		// The line is both what is done with the message and the memory of its id, so neither can be lost without the other.
		if _, err = fmt.Fprintf(ledger, "%s %q\n", id, message.Data.Title); err == nil {
			err = ledger.Sync()
		}
		if err != nil {
			log.Fatal(err) // unanswered, so it comes again; the ledger is read anew
		}
		seen[id] = true
	})
	listener, err := net.Listen("tcp", os.Args[1])
	check(err)
	fmt.Println("http://" + listener.Addr().String())
	check(http.Serve(listener, nil))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
