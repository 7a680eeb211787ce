// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/outbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sentResult = Result{Status: outbox.Sent}

// onDisk are files as they are.
type onDisk struct{}

func (onDisk) Secret(name string) (string, error) {
	b, err := os.ReadFile(name)
	return string(bytes.TrimSuffix(b, []byte("\n"))), err
}

func (onDisk) Template(name string) (string, error) {
	b, err := os.ReadFile(name)
	return string(b), err
}

func write(t *testing.T, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// made is what sends on a channel that is configured well.
func made(t *testing.T, c Config, change ...func(*Config)) Sender {
	t.Helper()
	for _, f := range change {
		f(&c)
	}
	ch, problems := New(c, Env{Files: onDisk{}, Version: "1.2.3"})
	if err := strict.Located("", nil, problems); err != nil {
		t.Fatal(err)
	}
	return ch.Sender
}

// wrongIn is what is wrong with a channel's configuration.
func wrongIn(c Config) string {
	if err := strict.Located("", nil, c.Check(onDisk{})); err != nil {
		return err.Error()
	}
	return ""
}

// eventually waits in real time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
