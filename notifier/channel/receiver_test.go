// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/picketd/picket/outbox"
)

const receiverSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// exampleReceiver is a receiver of the examples with a secret and a ledger.
type exampleReceiver struct {
	*testing.T
	command        []string
	secret, ledger string // files
	url            string
	stop           func()
}

// eachReceiver runs a test on each of the receivers that docs/receiving.md shows.
func eachReceiver(t *testing.T, names []string, test func(r *exampleReceiver)) {
	all := receivers(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if all[name] == nil {
				t.Skip("it is not installed")
			}
			dir := t.TempDir()
			r := &exampleReceiver{T: t, command: all[name], secret: filepath.Join(dir, "secret"), ledger: filepath.Join(dir, "ledger")}
			if err := os.WriteFile(r.secret, []byte(receiverSecret+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r.start()
			test(r)
		})
	}
}

func (r *exampleReceiver) start() {
	r.Helper()
	r.url, r.stop = startReceiver(r.T, append(r.command, "127.0.0.1:0", r.secret, r.ledger))
}

// deliver is an attempt that is signed with a secret.
func (r *exampleReceiver) deliver(key, with, title string) Result {
	r.Helper()
	m := someMessage
	m.Title = title
	file := write(r.T, with)
	w := hook(r.T, r.url, func(cc *Config) { cc.SecretFile = file })
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	return w.Send(ctx, Delivery{Key: key, Body: []byte(rendered(r.T, w, m))})
}

// delivers demands that an attempt is accepted.
func (r *exampleReceiver) delivers(key, title string) {
	r.Helper()
	if got := r.deliver(key, receiverSecret, title); got != sentResult {
		r.Errorf("%s is answered with %+v", title, got)
	}
}

func (r *exampleReceiver) handled(want map[string]int) {
	r.Helper()
	b, err := os.ReadFile(r.ledger)
	if err != nil {
		r.Fatal(err)
	}
	for title, n := range want {
		if got := bytes.Count(b, []byte(title)); got != n {
			r.Errorf("%s was handled %d times, want %d", title, got, n)
		}
	}
}

var bothReceivers = []string{"go", "python"}

// The receivers handle a notification once that comes twice, and once more after their restart. What is signed with another
// secret, or by another clock, has to come again: a person can mend that.
func TestTheExampleReceiversHandleANotificationOnce(t *testing.T) {
	t.Parallel()
	eachReceiver(t, bothReceivers, func(r *exampleReceiver) {
		for range 2 {
			r.delivers("web-01/w48", "the first")
		}
		got := r.deliver("web-01/w49", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "the forged")
		if got.Status != outbox.Pending || got.RetryAfter != time.Minute ||
			!strings.Contains(got.Error, "the clock or the secret differs") {
			r.Errorf("a forged one is %+v", got)
		}
		for at, want := range map[time.Duration]int{-time.Hour: 503, time.Hour: 503, 0: 400} {
			if status := r.post(time.Now().Add(at), "not JSON"); status != want {
				r.Errorf("what was signed %v from now is answered with %d, want %d", at, status, want)
			}
		}
		r.stop()
		r.start()
		r.delivers("web-01/w48", "the first")
		r.delivers("web-01/w48~2", "the second")
		r.stop()
		r.handled(map[string]int{"the first": 1, "the second": 1, "the forged": 0})
	})
}

// post sends what was signed at a time, and returns the status of the answer.
func (r *exampleReceiver) post(at time.Time, body string) int {
	r.Helper()
	signer, err := standardwebhooks.NewWebhook(receiverSecret)
	if err != nil {
		r.Fatal(err)
	}
	signature, err := signer.Sign("msg_1", at, []byte(body))
	if err != nil {
		r.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set(standardwebhooks.HeaderWebhookID, "msg_1")
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// A connection on which nothing comes holds nobody else up.
func TestAnIdleConnectionDoesNotBlockTheExampleReceivers(t *testing.T) {
	t.Parallel()
	eachReceiver(t, bothReceivers, func(r *exampleReceiver) {
		for range 3 {
			idle, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
			if err != nil {
				r.Fatal(err)
			}
			defer idle.Close()
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { r.delivers("web-01/w48", "the first") })
		}
		all.Wait()
		r.stop()
		r.handled(map[string]int{"the first": 1})
	})
}

// A body that would be without bound is refused before it is read.
func TestTheExampleReceiverReadsNoEndlessBody(t *testing.T) {
	t.Parallel()
	eachReceiver(t, []string{"python"}, func(r *exampleReceiver) {
		for _, length := range []string{"1099511627776", "-1"} {
			c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
			if err != nil {
				r.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: "+length+"\r\n\r\n")
			if answer, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(answer), "the body is too long") || !strings.Contains(string(answer), " 413 ") {
				r.Errorf("%s bytes: %q, %v", length, answer, err)
			}
		}
		r.delivers("web-01/w48", "the first")
	})
}

// A line that a crash or a full disk tore off counts for nothing: its notification is handled, and so is the next, each once.
func TestTheExampleReceiverMendsATornLedger(t *testing.T) {
	t.Parallel()
	eachReceiver(t, []string{"go"}, func(r *exampleReceiver) {
		r.delivers("web-01/w48", "the first")
		r.stop()
		line, err := os.ReadFile(r.ledger)
		if err != nil {
			r.Fatal(err)
		}
		for _, left := range []int{len(line) - 1, len(line) - 6, 3} { // without its end, in the title, in the id
			if err := os.WriteFile(r.ledger, line[:left], 0o600); err != nil {
				r.Fatal(err)
			}
			r.start()
			r.delivers("web-01/w49", "the second")
			r.delivers("web-01/w48", "the first")
			r.stop()
			r.start() // and reads what it wrote
			r.delivers("web-01/w49", "the second")
			r.stop()
			r.handled(map[string]int{"the first": 1, "the second": 1, "\n": 2})
		}
	})
}

// receivers are the examples' command lines.
func receivers(t *testing.T) map[string][]string {
	t.Helper()
	built := filepath.Join(t.TempDir(), "receiver-go")
	build := exec.Command("go", "build", "-trimpath", "-o", built, "../../examples/receiver-go")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as packages are made, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build it: %v: %s", err, out)
	}
	all := map[string][]string{"go": {built}}
	if python, err := exec.LookPath("python3"); err == nil {
		all["python"] = []string{python, "../../examples/receiver.py"}
	}
	return all
}

// startReceiver returns its URL, and what stops it.
func startReceiver(t *testing.T, command []string) (url string, stop func()) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	giveUp := time.AfterFunc(time.Minute, stop)
	defer giveUp.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it does not start: %v: %s", err, &said)
	}
	return strings.TrimSpace(line), stop
}
