// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

func TestAReloadSaysWhatARestartWouldChange(t *testing.T) {
	t.Parallel()
	path := write(t, "picket.toml", "[lock]\nttl = \"20s\"\n")
	c, err := LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		doc, says string
		wrong     bool
	}{
		{"[lock]\nttl = \"20s\"\n", "has not changed", false},
		{"[lock]\nttl = \"20\"\n", "lock.ttl: has no unit", true},
		{"[lock]\nttl = \"30s\"\n[redis]\ntls = {}\n[[channel]]\nname = \"a\"\ntype = \"log\"\n", `keys="redis.tls lock.ttl channel"`, false},
	} {
		log := &lines{}
		d, err := New(c, Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(step.doc), 0o600); err != nil {
			t.Fatal(err)
		}
		err = d.Reload()
		if errors.Is(err, ErrConfig) != step.wrong || !strings.Contains(log.String(), step.says) {
			t.Errorf("got %v\n%s\nwant %s", err, log, step.says)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(d.config.Lock.TTL); got != "20s" {
			t.Errorf("the running configuration has changed: lock.ttl is %s", got)
		}
	}
}
