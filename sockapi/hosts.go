// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

func listHosts(c *call, _, _ noInput) (answer, error) {
	members, err := c.api.Engine.Fleet(c.request.Context())
	if err != nil {
		return answer{}, err
	}
	list := client.HostList{Hosts: []client.Host{}}
	for _, m := range members {
		h := wireHost(m)
		h.Warnings = c.visible(h.Warnings)
		list.Hosts = append(list.Hosts, h)
	}
	slices.SortFunc(list.Hosts, func(a, b client.Host) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID)) })
	differences(list.Hosts)
	return answer{status: http.StatusOK, body: &list}, nil
}

func wireHost(m store.Member) client.Host {
	h := client.Host{
		ID: m.ID, Host: m.Host, Version: m.Version, Layout: m.Layout, Alive: m.Lives, Claims: m.Claims, Pending: m.Pending, Parked: m.Parked, Dead: m.Dead,
		LockTTLMS: m.LockTTLMS, Channels: []string{}, Warnings: []client.Warning{}, Since: timeOrNil(m.Since), SignedAt: timeOrNil(m.Signed),
	}
	if m.Channels != "" {
		h.Channels = strings.Split(m.Channels, ",")
	}
	for _, w := range m.Warnings {
		h.Warnings = append(h.Warnings, client.Warning(w))
	}
	return h
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// shared is what all hosts of a fleet should have alike.
var shared = []struct {
	warning, says string
	of            func(client.Host) string
}{
	{"other_version", "its version is %s, and most hosts have %s", func(h client.Host) string { return h.Version }},
	{"other_lock_ttl", "its lock.ttl is %s, and that of most hosts %s", func(h client.Host) string {
		return (time.Duration(h.LockTTLMS) * time.Millisecond).String()
	}},
	{"other_channels", "its channels are %s, and those of most hosts %s: what a host lacks it cannot deliver for one that is gone", func(h client.Host) string {
		return cmp.Or(strings.Join(h.Channels, " "), "none")
	}},
}

// differences warns of what the living hosts have not in common, and of labels that they share; and of those, also gone, that write
// Redis in another layout than this one.
func differences(hosts []client.Host) {
	for i, h := range hosts {
		if h.Layout != "" && h.Layout != store.Layout {
			hosts[i].Warnings = append(h.Warnings, client.Warning{Name: "other_layout", Message: fmt.Sprintf(
				"its version %s writes layout %s in Redis, and this one %s: while that stands there it grants nothing, and gives no sign of life", h.Version, h.Layout, store.Layout)})
		}
	}
	var living []*client.Host
	for i := range hosts {
		if hosts[i].Alive && hosts[i].Version != "" { // else it has told nothing yet
			living = append(living, &hosts[i])
		}
	}
	for _, what := range shared {
		count, usual := map[string]int{}, ""
		for _, h := range living {
			count[what.of(*h)]++
		}
		for value, n := range count { // of two that as many have, the first
			if n > count[usual] || n == count[usual] && value < usual {
				usual = value
			}
		}
		for _, h := range living {
			if is := what.of(*h); is != usual {
				h.Warnings = append(h.Warnings, client.Warning{Name: what.warning, Message: fmt.Sprintf(what.says, is, usual)})
			}
		}
	}
	labels := map[string]int{}
	for _, h := range living {
		labels[h.Host]++
	}
	for _, h := range living {
		if n := labels[h.Host]; n > 1 {
			h.Warnings = append(h.Warnings, client.Warning{Name: "same_label", Message: fmt.Sprintf(
				"%d hosts have this label, so people cannot tell who holds a lock: give each its own host in picket.toml", n)})
		}
	}
}

func postRetire(c *call, _ noInput, b client.ReasonRequest) (answer, error) {
	m, r, err := c.api.Engine.Retire(c.request.Context(), c.host, c.by(), b.Reason)
	host := wireHost(m)
	host.Warnings = c.visible(host.Warnings)
	return answer{status: http.StatusOK, body: &client.RetireResponse{Host: host, Taken: r.Taken, Offered: r.Offered}}, err
}
