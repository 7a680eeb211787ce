// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestLogHandlerHasTheAuditsNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	log := slog.New(LogHandler(&b)).With("asset", "web-01")
	log.Info("recorded", "token", 7)
	log.Warn("late")
	log.Error("lost")
	got := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z`).ReplaceAllString(b.String(), "NOW")
	want := `{"PICKET_TIME":"NOW","PRIORITY":"6","MESSAGE":"recorded","PICKET_ASSET":"web-01","PICKET_TOKEN":7}
{"PICKET_TIME":"NOW","PRIORITY":"4","MESSAGE":"late","PICKET_ASSET":"web-01"}
{"PICKET_TIME":"NOW","PRIORITY":"3","MESSAGE":"lost","PICKET_ASSET":"web-01"}
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
