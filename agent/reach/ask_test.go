// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

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
	c := Question{TCP: []int{22}, Refused: RefusedOffline, Timeout: time.Minute}
	c.TCP = []int{1, open}
	for _, x := range []struct {
		asset          string
		tcp            []int
		refused        string
		state, summary string
	}{
		{"127.0.0.1", c.TCP, RefusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{"127.0.0.1", []int{1}, RefusedOffline, client.StateAssetOffline, "no port is open, port 1 refused"},
		{"127.0.0.1", []int{1, 2}, RefusedOnline, client.StateAssetOnline, "ports 1, 2 refused the connection, so something is there"},
		{"127.0.0.1", []int{1}, RefusedOnline, client.StateAssetOnline, "port 1 refused the connection, so something is there"},
		{fmt.Sprintf("127.0.0.1:%d", open), []int{1}, RefusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{fmt.Sprintf("http://127.0.0.1:%d/login", open), []int{1}, RefusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{"127.0.0.1:1", c.TCP, RefusedOffline, client.StateAssetOffline, "no port is open, port 1 refused"},
		{"localhost", c.TCP, RefusedOffline, client.StateAssetOnline, fmt.Sprintf("port %d is open", open)},
		{"no host at all", c.TCP, RefusedOffline, "", "cannot tell whether the asset is online: its name cannot be resolved"},
		{"0.0.0.0", c.TCP, RefusedOnline, "", "cannot tell whether the asset is online: 0.0.0.0: it is no machine's address"},
		{"host.invalid", c.TCP, RefusedOnline, "", "cannot tell whether the asset is online: its name cannot be resolved"},
	} {
		c.TCP, c.Refused = x.tcp, x.refused
		got, err := Ask(t.Context(), net.DefaultResolver.LookupNetIP, c, x.asset)
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
	if got, err := f.result(Question{}, nil); err != nil || got.State != client.StateAssetOffline {
		t.Errorf("silence: %+v, %v", got, err)
	}
	if got, err := f.result(Question{}, syscall.ENETUNREACH); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("no route: %+v, %v", got, err)
	}
	f.Open = []int{22}
	if got, err := f.result(Question{}, syscall.ENETUNREACH); err != nil || got.State != client.StateAssetOnline {
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
	c := Question{TCP: []int{22}, Refused: RefusedOffline, Timeout: time.Minute}
	c.TCP, c.Timeout = []int{listener.Addr().(*net.TCPAddr).Port}, 4*time.Second
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
		"a slow resolver":           {named(6*time.Second, "127.0.0.2"), client.StateAssetOnline, "127.0.0.2", ""},
		"the first address is dead": {named(0, "127.0.0.1", "127.0.0.2"), client.StateAssetOnline, "127.0.0.2", ""},
		"none answers":              {named(0, "127.0.0.1", "127.0.0.3"), client.StateAssetOffline, "127.0.0.1", ""},
		"one cannot be asked":       {named(0, "127.0.0.1", "255.255.255.255"), "", "", "cannot tell whether the asset is online: 255.255.255.255: "},
		"one cannot, another is on": {named(0, "255.255.255.255", "127.0.0.2"), client.StateAssetOnline, "127.0.0.2", ""},
		"more than are asked":       {named(0, "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8", "127.0.0.9", "127.0.0.10", "127.0.0.11"), "", "", "cannot tell whether the asset is online: its name has 9 addresses, and 8 were asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Ask(t.Context(), x.find, c, "web-01")
			if x.state == "" {
				if err == nil || !strings.HasPrefix(err.Error(), x.says) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			var f onlineFacts
			if unread := json.Unmarshal(got.Facts, &f); err != nil || unread != nil || got.State != x.state || f.Address != x.address {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, addr := range []string{"127.0.0.1", "::1"} {
		switch err := echo(ctx, netip.MustParseAddr(addr)); {
		case errors.Is(err, errNoEcho), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENETUNREACH):
			t.Logf("cannot be tried here: %s: %v", addr, err)
			c := Question{TCP: []int{22}, Refused: RefusedOffline, Timeout: time.Minute}
			c.ICMP, c.TCP = true, nil
			if _, err := Ask(ctx, net.DefaultResolver.LookupNetIP, c, addr); err == nil {
				t.Errorf("%s: without ports and ICMP it was decided", addr)
			}
		case err != nil:
			t.Errorf("%s: %v", addr, err)
		}
	}
}
