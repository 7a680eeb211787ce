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

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/sockapi/client"
)

func TestOnline(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	open := listener.Addr().(*net.TCPAddr).Port
	c := DefaultConfig().Step.Online
	c.TCP = []int{1, open}
	for _, x := range []struct {
		asset          string
		tcp            []int
		refused        string
		state, summary string
	}{
		{"127.0.0.1", c.TCP, refusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{"127.0.0.1", []int{1}, refusedOffline, client.StateAssetOffline, "no port is open, port 1 refused"},
		{"127.0.0.1", []int{1, 2}, refusedOnline, client.StateAssetOnline, "ports 1, 2 refused the connection, so something is there"},
		{"127.0.0.1", []int{1}, refusedOnline, client.StateAssetOnline, "port 1 refused the connection, so something is there"},
		{fmt.Sprintf("127.0.0.1:%d", open), []int{1}, refusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{fmt.Sprintf("http://127.0.0.1:%d/login", open), []int{1}, refusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{"127.0.0.1:1", c.TCP, refusedOffline, client.StateAssetOffline, "no port is open, port 1 refused"},
		{"localhost", c.TCP, refusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{"no host at all", c.TCP, refusedOffline, "", "cannot tell whether the asset is online: its name cannot be resolved"},
		{"0.0.0.0", c.TCP, refusedOnline, "", "cannot tell whether the asset is online: 0.0.0.0: it is no machine's address"},
		{"host.invalid", c.TCP, refusedOnline, "", "cannot tell whether the asset is online: its name cannot be resolved"},
	} {
		c.TCP, c.Refused = x.tcp, x.refused
		got, err := checkOnline(t.Context(), net.DefaultResolver.LookupNetIP, c, x.asset)
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
	if got, err := f.result(OnlineConfig{}, nil); err != nil || got.State != client.StateAssetOffline {
		t.Errorf("silence: %+v, %v", got, err)
	}
	if got, err := f.result(OnlineConfig{}, syscall.ENETUNREACH); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("no route: %+v, %v", got, err)
	}
	f.Open = []int{22}
	if got, err := f.result(OnlineConfig{}, syscall.ENETUNREACH); err != nil || got.State != client.StateAssetOnline {
		t.Errorf("one port open: %+v, %v", got, err)
	}
}

// TestOfflineIsWhatWasAskedInFull: a machine is online by any of its addresses, a slow resolver takes nothing of the time to
// answer, and what was asked in part is offline to nobody.
func TestOfflineIsWhatWasAskedInFull(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	c := DefaultConfig().Step.Online
	c.TCP, c.Timeout = []int{listener.Addr().(*net.TCPAddr).Port}, strict.Duration(leastAsked)
	named := func(after time.Duration, addrs ...string) lookup {
		return func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			select {
			case <-time.After(after):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			var found []netip.Addr
			for _, a := range addrs {
				found = append(found, netip.MustParseAddr(a))
			}
			return found, nil
		}
	}
	for name, x := range map[string]struct {
		find           lookup
		state, address string
		says           string
	}{
		"a slow resolver":           {named(2*leastAsked, "127.0.0.2"), client.StateAssetOnline, "127.0.0.2", ""},
		"the first address is dead": {named(0, "127.0.0.1", "127.0.0.2"), client.StateAssetOnline, "127.0.0.2", ""},
		"none answers":              {named(0, "127.0.0.1", "127.0.0.3"), client.StateAssetOffline, "127.0.0.1", ""},
		"one cannot be asked":       {named(0, "127.0.0.1", "255.255.255.255"), "", "", "cannot tell whether the asset is online: 255.255.255.255: "},
		"one cannot, another is on": {named(0, "255.255.255.255", "127.0.0.2"), client.StateAssetOnline, "127.0.0.2", ""},
		"more than are asked":       {named(0, "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8", "127.0.0.9", "127.0.0.10", "127.0.0.11"), "", "", "cannot tell whether the asset is online: its name has 9 addresses, and 8 were asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := checkOnline(t.Context(), x.find, c, "web-01")
			if x.state == "" {
				if err == nil || !strings.HasPrefix(err.Error(), x.says) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			if f := decoded[onlineFacts](t, got.Facts); err != nil || got.State != x.state || f.Address != x.address {
				t.Errorf("%+v, %v", got, err)
			}
		})
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
			c := DefaultConfig().Step.Online
			c.ICMP, c.TCP = true, nil
			if _, err := checkOnline(ctx, net.DefaultResolver.LookupNetIP, c, addr); err == nil {
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
	if got := out.String(); got != eraseLine+"8 of 40 done, 2 failed, 1 hig" || strings.Contains(c.Line(time.Now(), 0), "left") {
		t.Errorf("on a narrow terminal, at the end: %q, %q", got, c.Line(time.Now(), 0))
	}
	c = Counts{Total: 9, Done: 4, Before: 2, Held: 1, Later: 2, Failed: 1, Stopped: 1, HighRisk: 1, Began: began, Away: "Redis is away", AwaySince: time.Date(2026, 11, 29, 14, 3, 10, 0, time.Local)}
	if want := "4 of 9 done (2 before), 1 at high risk, 1 failed, 1 held elsewhere, 2 put off, 1 not done because the run was ended, in 10s; Redis is away since 14:03:10"; c.Sentence(began.Add(10*time.Second)) != want {
		t.Errorf("it says %s", c.Sentence(began.Add(10*time.Second)))
	}
	if want := "Redis is away since 14:03:10: 4 of 9 done (2 before), 0 running, 1 held elsewhere, 1 failed, 1 high risk, 2 to be tried later"; c.Line(time.Now(), 0) != want {
		t.Errorf("it shows %s", c.Line(time.Now(), 0))
	}
	if want := "Redis is away since 14:03:10: 4 of 9 done, 1 failed, 1 high risk"; c.Line(time.Now(), 79) != want {
		t.Errorf("within 79 columns it shows %s", c.Line(time.Now(), 79))
	}
}

// TestProgressKeepsWhatMattersOnEightyColumns: how long it takes yet, what failed and who is at high risk.
func TestProgressKeepsWhatMattersOnEightyColumns(t *testing.T) {
	t.Parallel()
	began := time.Now()
	now := began.Add(40 * time.Second)
	c := Counts{Total: 99, Done: 51, Before: 28, Running: 4, Held: 3, Failed: 9, HighRisk: 6, Began: began}
	for want, most := range map[string]int{
		"51 of 99 done (28 before), 4 running, 3 held elsewhere, 9 failed, 6 high risk, about 49s left": 0,
		"51 of 99 done, 3 held elsewhere, 9 failed, 6 high risk, about 49s left":                        79,
		"51 of 99 done, 9 failed, 6 high risk, about 49s left":                                          60,
	} {
		if got := c.Line(now, most); got != want {
			t.Errorf("within %d columns: %s", most, got)
		}
	}
	c.Held, c.Failed, c.HighRisk = 0, 0, 0
	if got, want := c.Line(now, 55), "51 of 99 done, 4 running, about 1m20s left"; got != want {
		t.Errorf("with nothing to tell of the others: %s", got)
	}
}
