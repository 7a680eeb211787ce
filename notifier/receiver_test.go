// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/outbox"
)

const receiverSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The receivers that docs/receiving.md shows handle a notification once that comes twice, and once more after their restart.
func TestTheExampleReceiversHandleANotificationOnce(t *testing.T) {
	t.Parallel()
	for name, command := range receivers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			secret, ledger := filepath.Join(dir, "secret"), filepath.Join(dir, "ledger")
			if err := os.WriteFile(secret, []byte(receiverSecret+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			deliver := func(url, key, with, title string) Result {
				t.Helper()
				m := someMessage
				m.Title = title
				decoded, err := ParseSecret([]byte(with))
				if err != nil {
					t.Fatal(err)
				}
				w := hook(t, url, func(cc *ChannelConfig) { cc.Secret = decoded })
				return w.Send(t.Context(), Delivery{Key: key, Body: []byte(rendered(t, w, m))})
			}
			handled := func(want map[string]int) {
				t.Helper()
				b, err := os.ReadFile(ledger)
				if err != nil {
					t.Fatal(err)
				}
				for title, n := range want {
					if got := bytes.Count(b, []byte(title)); got != n {
						t.Errorf("%s was handled %d times, want %d", title, got, n)
					}
				}
			}

			url, stop := startReceiver(t, append(command, "127.0.0.1:0", secret, ledger))
			for range 2 {
				if got := deliver(url, "web-01/w48", receiverSecret, "the first"); got != sentResult {
					t.Errorf("got %+v", got)
				}
			}
			if got := deliver(url, "web-01/w49", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "the forged"); got.Status != outbox.Dead {
				t.Errorf("a forged one is %+v", got)
			}
			stop()
			url, stop = startReceiver(t, append(command, "127.0.0.1:0", secret, ledger))
			defer stop()
			for _, key := range []string{"web-01/w48", "web-01/w48~2"} {
				title := map[bool]string{true: "the first", false: "the second"}[key == "web-01/w48"]
				if got := deliver(url, key, receiverSecret, title); got != sentResult {
					t.Errorf("got %+v", got)
				}
			}
			stop()
			handled(map[string]int{"the first": 1, "the second": 1, "the forged": 0})
		})
	}
}

// receivers are the examples' command lines.
func receivers(t *testing.T) map[string][]string {
	t.Helper()
	built := filepath.Join(t.TempDir(), "receiver-go")
	if out, err := exec.Command("go", "build", "-o", built, "../examples/receiver-go").CombinedOutput(); err != nil {
		t.Fatalf("cannot build it: %v: %s", err, out)
	}
	all := map[string][]string{"go": {built}}
	if python, err := exec.LookPath("python3"); err == nil {
		all["python"] = []string{python, "../examples/receiver.py"}
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
	giveUp := time.AfterFunc(20*time.Second, stop)
	defer giveUp.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it does not start: %v: %s", err, &said)
	}
	return strings.TrimSpace(line), stop
}
