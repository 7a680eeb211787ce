// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// unread are files that nobody may look at.
type unread struct{}

func (unread) Secret(string) (string, error)   { return "", channel.ErrUnread }
func (unread) Template(string) (string, error) { return "", channel.ErrUnread }

func TestNewNamesTheChannelAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for says, channels := range map[string][]channel.Config{
		`channel "": name: must be`:                {{Type: "log"}},
		`channel "a": the name is used twice`:      {{Name: "a", Type: "log"}, {Name: "a", Type: "log"}},
		`channel "a": type: "pigeon" is not known`: {{Name: "a", Type: "pigeon"}},
		`channel "a": url: is missing`:             {{Name: "a", Type: "webhook"}},
		`channel "a": rate: "fast" is not a rate`:  {{Name: "a", Type: "log", Rate: "fast"}},
		`channel "a": it is not read now`:          {{Name: "a", Type: "slack", URLFile: "url"}},
	} {
		c := w.config
		c.Channels, c.Files = channels, unread{}
		if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	c := w.config
	c.RetryMax, c.RetryFirst = time.Second, time.Minute
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "retry_max") {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("New without an outbox")
	}
}

func TestRenderNamesAnUnknownChannel(t *testing.T) {
	t.Parallel()
	w := setup(t, nil, one("ops"))
	message := channel.Message{Key: "web-01/w48", Title: "an old SSH"}
	if body, err := w.Render("ops", message); err != nil || !strings.Contains(string(body), message.Title) {
		t.Errorf("%s, %v", body, err)
	}
	if _, err := w.Render("nope", message); err == nil || !strings.Contains(err.Error(), `"nope"`) {
		t.Errorf("%v", err)
	}
}

func TestStopNeedsNoStartAndMayComeTwice(t *testing.T) {
	t.Parallel()
	w := setup(t, always(sentResult), one("ops"))
	w.stop()
	w.Start()
	ref := w.put("w48", "ops")
	w.stop()
	if w.get(ref).Origin != outbox.Committed || len(w.asked()) != 0 {
		t.Error("it began after Stop")
	}
}

func TestStopLetsWhatIsInFlightEnd(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	w := setup(t, func(context.Context, send) channel.Result {
		close(begun)
		<-end
		return sentResult
	}, one("ops"))
	ref := w.put("w48", "ops")
	w.tells(settled)
	w.Start()
	<-begun
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.stop()
	}()
	<-w.quit.Done()
	w.put("w49", "ops")
	close(end)
	<-stopped
	w.shutWithout(ref)
	if len(w.asked()) != 1 {
		t.Errorf("asked %d times", len(w.asked()))
	}
}

// shutWithout checks that the intent is closed, whatever else is due.
func (w *world) shutWithout(ref outbox.Ref) {
	w.t.Helper()
	if in := w.get(ref); in.Origin != outbox.Closed || in.Channels["ops"].Status != outbox.Sent {
		w.t.Errorf("the intent is %s, %+v", in.Origin, in.Channels)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	var code int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	defer server.Close()
	reg := prometheus.NewRegistry()
	w := setup(t, nil, channel.Config{Name: "ops", Type: "webhook", URL: server.URL})
	c := w.config
	c.Registry = reg
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	code = 204
	ref := w.put("w48", "ops")
	w.tells(settled)
	n.Start()
	w.untilShut(ref)
	code = 410
	ref = w.put("w49", "ops")
	w.untilShut(ref)
	if err := n.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	want := `
# HELP picket_channel_breaker_open Whether the channel's breaker is open (1): only a probe goes out every 10 s.
# TYPE picket_channel_breaker_open gauge
picket_channel_breaker_open{channel="ops"} 0
# HELP picket_notifications_total Attempts to notify by what became of them; pending is a known failure that is tried again.
# TYPE picket_notifications_total counter
picket_notifications_total{channel="ops",result="dead"} 1
picket_notifications_total{channel="ops",result="parked"} 0
picket_notifications_total{channel="ops",result="pending"} 0
picket_notifications_total{channel="ops",result="sent"} 1
picket_notifications_total{channel="ops",result="unknown"} 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "picket_notifications_total", "picket_channel_breaker_open"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(reg, "picket_notification_seconds"); n != 1 || err != nil {
		t.Errorf("%d histograms, %v", n, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("registered twice")
		}
	}()
	_, _ = New(c)
}
