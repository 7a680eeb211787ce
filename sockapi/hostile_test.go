// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

// TestRefusedBeforeItsBodyCame: a call that is refused for its path or its caller is answered at once, and its connection ends,
// though the body that it announced never comes.
func TestRefusedBeforeItsBodyCame(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{panic: "reached"}})
	for request, want := range map[string]int{
		"POST /v1/nowhere": http.StatusNotFound, "PUT /v1/claims": http.StatusMethodNotAllowed, "POST /v1/claims?x=1": http.StatusUnprocessableEntity,
	} {
		c := dial(t, h.socket)
		must(t, c.SetDeadline(time.Now().Add(bodyTime-time.Second)))
		_, err := io.WriteString(c, request+" HTTP/1.1\r\nHost: picket\r\nContent-Length: 100\r\n\r\n")
		must(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(t, err)
		if resp.StatusCode != want || !resp.Close {
			t.Errorf("%s: got %d, closes: %t", request, resp.StatusCode, resp.Close)
		}
		_ = resp.Body.Close()
		if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Errorf("%s: the connection is kept: %v", request, err)
		}
	}
}

// TestBodiesAreBounded: bodies that lack their last byte hold no more memory than all may.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	h := serve(t, Config{Engine: failing{err: engine.ErrDraining}})
	const more = 8
	most := h.server.budgets.bodies.all
	body := strings.Repeat("x", maxBody-1)
	for range most/maxBody + more {
		c := dial(t, h.socket)
		go func() {
			_, _ = fmt.Fprintf(c, "POST /v1/claims HTTP/1.1\r\nHost: picket\r\nContent-Length: %d\r\n\r\n%s", maxBody, body)
		}()
	}
	held := func() (used int64, waiting int) {
		b := h.server.budgets.bodies
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, s := range b.shares {
			used, waiting = used+s.used, waiting+len(s.queue)
		}
		return used, waiting
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		used, waiting := held()
		if used > most {
			t.Fatalf("bodies hold %d bytes, %d may be", used, most)
		}
		if waiting >= more {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d calls wait, %d bytes are held", waiting, used)
		}
	}
}

// TestUnreadAnswerEnds: whoever does not read its answer is hung up on.
func TestUnreadAnswerEnds(t *testing.T) {
	t.Parallel()
	socket, accepted, _ := accepting(t, newLimits(4, 4))
	dial(t, socket)
	c := <-accepted
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, 8<<20))
		written <- err
	}()
	select {
	case err := <-written:
		if nerr, ok := err.(net.Error); !ok || !nerr.Timeout() {
			t.Errorf("got %v", err)
		}
	case <-time.After(3 * writeTime):
		t.Error("it waits on")
	}
}

// TestAgentsAreNotToldTheConfiguration: what is unwise in it, with the paths of files that can be read, is for root and admins.
func TestAgentsAreNotToldTheConfiguration(t *testing.T) {
	t.Parallel()
	const path = "/etc/picket/readable.secret"
	warnings := []client.Warning{{Name: configuration, Message: path}, {Name: configuration, Message: path}, {Name: "outbox", Message: "full"}}
	gid := uint32(3200)
	h := serve(t, Config{
		AdminGID: &gid, Status: func() client.Status { return client.Status{Warnings: warnings} },
		Warnings: func() []client.Warning { return warnings },
	})
	for _, call := range []string{"/v1/status", "/readyz?verbose"} {
		for peer, told := range map[string]bool{"root": true, "admin": true, "agent": false} {
			p := map[string]engine.Peer{"root": {}, "admin": {UID: 1, Groups: []uint32{gid}}, "agent": {UID: 1000}}[peer]
			body := h.asPeer(p, "GET", call, "").body
			if strings.Contains(body, path) != told || !strings.Contains(body, configuration) || !strings.Contains(body, "full") {
				t.Errorf("%s is told by %s: %s", peer, call, body)
			}
		}
	}
	if warnings[0].Message != path {
		t.Error("what is hidden from one is hidden from all")
	}
}

// TestLongNumbers: a number that Python's json could not read is refused, wherever it stands.
func TestLongNumbers(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{maxDigits: true, maxDigits + 1: false, 5000: false} {
		for _, form := range []string{`{"facts":{"n":%s}}`, `{"facts":{"a":[1,{"n":-%.0s1,"m":%[1]s}]}}`} {
			_, err := membersOf([]byte(fmt.Sprintf(form, strings.Repeat("9", n))))
			if (err == nil) != ok {
				t.Errorf("%d digits in %s: %v", n, form, err)
			}
		}
	}
}
