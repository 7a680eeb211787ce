// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/picketd/picket/outbox"
)

func TestLogChannelWritesOneLine(t *testing.T) {
	t.Parallel()
	m := message
	m.Title = "Two\nlines \x1b[2J & <tags>"
	body, err := renderJSON(m)
	if err != nil {
		t.Fatal(err)
	}
	var out, logged bytes.Buffer
	l := &logger{output: &out}
	if r := l.Send(t.Context(), Delivery{Key: "k", Body: body}); r != sentResult {
		t.Errorf("%+v", r)
	}
	if got := out.String(); got != "notification web-01/w48 critical: Two lines & <tags>\n" {
		t.Errorf("%q", got)
	}
	l = &logger{logger: slog.New(slog.NewTextHandler(&logged, nil))}
	if r := l.Send(t.Context(), Delivery{Key: "k", Body: body}); r != sentResult {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"notification", "ticket=web-01/w48", "severity=critical", `title="Two lines & <tags>"`} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("no %s in %s", want, logged.String())
		}
	}
	for _, l = range []*logger{{output: broken{}}, {logger: slog.New(slog.NewJSONHandler(broken{}, nil))}} {
		if r := l.Send(t.Context(), Delivery{Body: body}); r.Status != outbox.Pending {
			t.Errorf("a line that was not written: %+v", r)
		}
	}
	if r := l.Send(t.Context(), Delivery{Body: []byte("x")}); r.Status != outbox.Dead {
		t.Errorf("%+v", r)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
