// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// Moment is the form of PICKET_TIME: RFC 3339 in UTC, with microseconds.
const Moment = "2006-01-02T15:04:05.000000Z07:00"

// LogHandler writes JSON lines with the names that journald and the audit have, so that whoever reads both needs to know one form.
// They have no PICKET_EVENT, by which records of the audit are known.
func LogHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case a.Key == slog.MessageKey:
			a.Key = "MESSAGE"
		case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
			return slog.String("PICKET_TIME", a.Value.Time().UTC().Format(Moment))
		case a.Key == slog.LevelKey:
			level, _ := a.Value.Any().(slog.Level)
			return slog.String("PRIORITY", strconv.Itoa(Priority(level)))
		default:
			a.Key = "PICKET_" + strings.ToUpper(a.Key)
		}
		return a
	}})
}

// Priority is a level as syslog and journald count: 3 is an error, 4 a warning, 6 all else.
func Priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	}
	return 6
}
