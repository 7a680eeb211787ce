// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOnline(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	open := listener.Addr().(*net.TCPAddr).Port
	c := OnlineConfig{TCP: []int{1, open}, Refused: refusedOffline}
	for _, x := range []struct {
		asset          string
		tcp            []int
		refused        string
		state, summary string
	}{
		{"127.0.0.1", c.TCP, refusedOffline, stateOnline, fmt.Sprintf("port %d is open", open)},
		{"127.0.0.1", []int{1}, refusedOffline, stateOffline, "no port is open, 1 refused"},
		{"127.0.0.1", []int{1}, refusedOnline, stateOnline, "port 1 refused the connection, so something is there"},
		{fmt.Sprintf("127.0.0.1:%d", open), []int{1}, refusedOffline, stateOnline, fmt.Sprintf("port %d is open", open)},
		{fmt.Sprintf("http://127.0.0.1:%d/login", open), []int{1}, refusedOffline, stateOnline, fmt.Sprintf("port %d is open", open)},
		{"127.0.0.1:1", c.TCP, refusedOffline, stateOffline, "no port is open, 1 refused"},
		{"localhost", c.TCP, refusedOffline, stateOnline, fmt.Sprintf("port %d is open", open)},
		{"no host at all", c.TCP, refusedOffline, "", "cannot tell whether the asset is online: its name cannot be resolved"},
		{"host.invalid", c.TCP, refusedOnline, "", "cannot tell whether the asset is online: its name cannot be resolved"},
	} {
		c.TCP, c.Refused = x.tcp, x.refused
		got, err := checkOnline(t.Context(), c, x.asset)
		if got.State != x.state || x.state != "" && got.Summary != x.summary || x.state == "" && (err == nil || !strings.HasPrefix(err.Error(), x.summary)) {
			t.Errorf("%s %v %s: %+v, %v", x.asset, x.tcp, x.refused, got, err)
		}
		c.TCP = []int{1, open}
	}
}

func TestAURLIsAskedAtItsPort(t *testing.T) {
	t.Parallel()
	for asset, want := range map[string]string{
		"https://web-01/x": "web-01 [443]", "http://[::1]/": "::1 [80]", "https://u@web-01:8443": "web-01 [8443]",
		"no-such-scheme://web-01": "web-01 [1 2]", "web-01:22": "web-01 [22]", "web-01": "web-01 [1 2]",
	} {
		host, ports := target(t.Context(), asset, []int{1, 2})
		if got := fmt.Sprint(host, " ", ports); got != want {
			t.Errorf("%s is asked at %s, want %s", asset, got, want)
		}
	}
}

// TestSilenceIsOfflineAndTroubleIsNot: what this host cannot try says nothing about the asset.
func TestSilenceIsOfflineAndTroubleIsNot(t *testing.T) {
	t.Parallel()
	for err, silent := range map[error]bool{
		context.DeadlineExceeded: true, syscall.ETIMEDOUT: true, syscall.EHOSTUNREACH: true,
		syscall.ENETUNREACH: false, syscall.EPERM: false, syscall.EMFILE: false, syscall.EADDRNOTAVAIL: false,
	} {
		if isSilence(&net.OpError{Op: "dial", Err: err}) != silent {
			t.Errorf("%v is taken for silence: %v", err, !silent)
		}
	}
	f := onlineFacts{Silent: []int{22}}
	if got, err := f.result(OnlineConfig{}, nil); err != nil || got.State != stateOffline {
		t.Errorf("silence: %+v, %v", got, err)
	}
	if got, err := f.result(OnlineConfig{}, syscall.ENETUNREACH); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("no route: %+v, %v", got, err)
	}
	f.Open = []int{22}
	if got, err := f.result(OnlineConfig{}, syscall.ENETUNREACH); err != nil || got.State != stateOnline {
		t.Errorf("one port open: %+v, %v", got, err)
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, addr := range []string{"127.0.0.1", "::1"} {
		switch err := echo(ctx, netip.MustParseAddr(addr)); {
		case errors.Is(err, errNoEcho), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENETUNREACH):
			t.Logf("cannot be tried here: %s: %v", addr, err)
			c := OnlineConfig{ICMP: true, Refused: refusedOffline}
			if _, err := checkOnline(ctx, c, addr); err == nil {
				t.Errorf("%s: without ports and ICMP it was decided", addr)
			}
		case err != nil:
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestProgressStaysBelowWhatIsWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	width := 0
	p := NewProgress(&out, func() int { return width })
	began := time.Now().Add(-10 * time.Second)
	c := Counts{Total: 40, Done: 8, Running: 4, Held: 3, Failed: 2, HighRisk: 1, Began: began}
	p.Show(c)
	p.Show(c)
	fmt.Fprintln(p, "a line")
	p.Clear()
	line := "8 of 40 done, 4 running, 3 held elsewhere, 2 failed, 1 high risk, about 30s left"
	parts := strings.Split(out.String(), eraseLine)
	if !slices.Equal(parts, []string{"", line, "a line\n" + line, ""}) {
		t.Errorf("on the terminal: %q", parts)
	}
	out.Reset()
	width, c.Ending = 30, true
	p.Show(c)
	if got := out.String(); got != eraseLine+line[:29] || strings.Contains(c.Line(time.Now()), "left") {
		t.Errorf("on a narrow terminal, at the end: %q, %q", got, c.Line(time.Now()))
	}
	for d, want := range map[time.Duration]string{9400 * time.Millisecond: "9s", 151 * time.Second: "2m30s", 5 * time.Minute: "5m", 3*time.Hour + 31*time.Second: "3h1m"} {
		if got := about(d); got != want {
			t.Errorf("%s is about %s, want %s", d, got, want)
		}
	}
	c = Counts{Total: 5, Done: 2, Held: 1, Failed: 1, Stopped: 1, HighRisk: 1, Began: began}
	if want := "2 of 5 done, 1 at high risk, 1 failed, 1 held elsewhere or put off, 1 not done because the run was ended, in 10s"; c.Sentence(began.Add(10*time.Second)) != want {
		t.Errorf("it says %s", c.Sentence(began.Add(10*time.Second)))
	}
}
