// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"slices"
	"testing"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// TestHostsAreToldHowTheyDiffer: what all should have alike, and labels that are not, of those that live and have told of themselves.
func TestHostsAreToldHowTheyDiffer(t *testing.T) {
	t.Parallel()
	one := client.Host{Host: "a", Version: "1", Alive: true, LockTTLMS: 15000, Channels: []string{"ops:webhook"}}
	with := func(change func(*client.Host)) client.Host {
		h := one
		change(&h)
		return h
	}
	for _, c := range []struct {
		name string
		host client.Host
		want []string
	}{
		{"like the others", with(func(h *client.Host) { h.Host = "c" }), nil},
		{"another version", with(func(h *client.Host) { h.Host, h.Version = "c", "2" }), []string{"other_version"}},
		{"another lock.ttl", with(func(h *client.Host) { h.Host, h.LockTTLMS = "c", 1000 }), []string{"other_lock_ttl"}},
		{"other channels", with(func(h *client.Host) { h.Host, h.Channels = "c", nil }), []string{"other_channels"}},
		{"the same label", with(func(*client.Host) {}), []string{"same_label"}},
		{"another layout", with(func(h *client.Host) { h.Host, h.Layout = "c", "1" }), []string{"other_layout"}},
		{"another layout, and gone", with(func(h *client.Host) { h.Alive, h.Layout = false, "1" }), []string{"other_layout"}},
		{"the same layout", with(func(h *client.Host) { h.Host, h.Layout = "c", store.Layout }), nil},
		{"gone", with(func(h *client.Host) { h.Version, h.Alive = "2", false }), nil},
		{"one that told nothing", with(func(h *client.Host) { h.Version = "" }), nil},
	} {
		hosts := []client.Host{one, with(func(h *client.Host) { h.Host = "b" }), c.host}
		differences(hosts)
		var got []string
		for _, w := range hosts[2].Warnings {
			got = append(got, w.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: warned of %q", c.name, got)
		}
		if len(hosts[1].Warnings) > 0 || (len(hosts[0].Warnings) > 0) != slices.Contains(c.want, "same_label") {
			t.Errorf("%s: the others are warned of %v, %v", c.name, hosts[0].Warnings, hosts[1].Warnings)
		}
	}
}
