// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

type fleet struct {
	Alarms       []alarm
	Hosts        []client.Host
	Alive        int
	Claims       int
	Pending      int
	Waits        int // notifications that wait for a person
	HostsTrouble string
}

// alarm is what a person should look at. Hosts are those that say the same.
type alarm struct {
	Bad   bool // something went wrong; else it is unwise
	Text  string
	Hosts []string
	At    *time.Time
	Link  string
}

func fleetPage(v *visit) (any, error) {
	var f fleet
	for _, c := range v.me.Checks {
		if !c.OK {
			f.Alarms = append(f.Alarms, alarm{Bad: true, Text: fmt.Sprintf("It cannot serve, for %s: %s", c.Name, c.Error), Hosts: []string{v.me.Host}})
		}
	}
	for _, c := range v.me.Channels {
		if c.BreakerOpen {
			f.Alarms = append(f.Alarms, alarm{Bad: true, Text: "The channel " + c.Name + " fails again and again, and is only tried every 10 s.", Hosts: []string{v.me.Host}})
		}
	}
	list, err := v.Hosts(v)
	if err != nil {
		f.HostsTrouble = err.Error()
		f.Alarms = append(f.Alarms, alarm{Bad: true, Text: "The other hosts are not known now: " + f.HostsTrouble})
		list.Hosts = []client.Host{{ID: v.me.ID, Host: v.me.Host, Version: v.me.Version, Since: &v.me.StartedAt, Alive: true, Claims: v.me.Claims, Warnings: v.me.Warnings}}
	}
	f.Hosts = list.Hosts
	if err := f.countOwn(v); err != nil {
		return nil, err
	}
	f.count()
	f.warn()
	slices.SortStableFunc(f.Alarms, func(a, b alarm) int { return rank(a) - rank(b) })
	slices.SortStableFunc(f.Hosts, func(a, b client.Host) int {
		return cmp.Or(standing(a)-standing(b), strings.Compare(a.Host, b.Host))
	})
	return f, nil
}

// countOwn counts anew what waits for a person in the outbox that can be asked: hosts tell it every 5 minutes only.
func (f *fleet) countOwn(v *visit) error {
	i := slices.IndexFunc(f.Hosts, func(h client.Host) bool { return h.ID == v.me.ID })
	if i < 0 {
		return nil
	}
	for status, n := range map[string]*int{client.DeliveryParked: &f.Hosts[i].Parked, client.DeliveryDead: &f.Hosts[i].Dead} {
		list, err := v.Outbox(v, status)
		if err != nil {
			return err
		}
		*n = len(list.Intents)
	}
	return nil
}

// count sums up the hosts, and tells of those that are down.
func (f *fleet) count() {
	for _, h := range f.Hosts {
		f.Claims += h.Claims
		f.Pending += h.Pending
		f.Waits += h.Parked + h.Dead
		if h.Alive {
			f.Alive++
			continue
		}
		text := "is down: it gives no sign of life"
		if n := h.Pending; n > 0 {
			text += ", and had " + plain.Count(n, "notification", "notifications") + " to send, which the others take over"
		}
		f.Alarms = append(f.Alarms, alarm{Bad: true, Text: text + ".", Hosts: []string{cmp.Or(h.Host, h.ID)}, At: h.SignedAt})
	}
	if f.Waits > 0 {
		text := plain.Count(f.Waits, "notification waits", "notifications wait") + " for a person to decide."
		f.Alarms = append(f.Alarms, alarm{Bad: true, Text: text, Link: "/waiting"})
	}
}

// warn tells of the hosts' warnings: what several say alike is told once.
func (f *fleet) warn() {
	at := map[string]int{}
	for _, h := range f.Hosts {
		if !h.Alive {
			continue
		}
		for _, w := range h.Warnings {
			i, known := at[w.Name+w.Message]
			if !known {
				i = len(f.Alarms)
				at[w.Name+w.Message] = i
				f.Alarms = append(f.Alarms, alarm{Bad: w.Alarm, Text: w.Name + ": " + w.Message, At: w.At})
			}
			f.Alarms[i].Hosts = append(f.Alarms[i].Hosts, cmp.Or(h.Host, h.ID))
		}
	}
}

// Who names the hosts of an alarm, or some of them.
func (a alarm) Who() string {
	const most = 3
	if n := len(a.Hosts); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(a.Hosts[:most], ", "), n-most)
	}
	return strings.Join(a.Hosts, ", ")
}

func rank(a alarm) int {
	if a.Bad {
		return 0
	}
	return 1
}

// standing orders hosts: those that are down first, then those that warn.
func standing(h client.Host) int {
	switch {
	case !h.Alive:
		return 0
	case len(h.Warnings) > 0:
		return 1
	}
	return 2
}
