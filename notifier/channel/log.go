// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/outbox"
)

// logger writes a line for people: on output if there is one, else into the daemon's log.
type logger struct {
	logger *slog.Logger

	mu     sync.Mutex // one line at a time
	output io.Writer
}

var logKind = kind{name: "log", open: func(o *opening) Sender { return &logger{logger: o.Logger, output: o.Output} }}

func (l *logger) Render(m Message) ([]byte, error) { return renderJSON(m) }

func (l *logger) Send(ctx context.Context, d Delivery) Result {
	var p payload
	if err := json.Unmarshal(d.Body, &p); err != nil {
		return Result{Status: outbox.Dead, Error: "the body is not one of a log channel"}
	}
	title := plain.Line(p.Data.Title, MaxError)
	var err error
	if l.output == nil {
		line := slog.NewRecord(time.Now(), slog.LevelInfo, "notification", 0)
		line.AddAttrs(slog.String("ticket", p.Data.ID), slog.String("severity", p.Data.Severity), slog.String("title", title), slog.String("key", d.Key))
		err = l.logger.Handler().Handle(ctx, line) // a Logger does not tell
	} else {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = fmt.Fprintf(l.output, "notification %s %s: %s\n", plain.Line(p.Data.ID, MaxError), p.Data.Severity, title)
	}
	if err != nil {
		return unanswered(false, fmt.Sprintf("cannot write the line: %v", err))
	}
	return Result{Status: outbox.Sent}
}
