// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// The harness is a router: each place has a link to it, 10.77.N.0/30, on which the harness is .1 and the place .2. What goes from one
// place to another passes the router's rules, where a cut drops it.
const network = "10.77"

// Address is the harness' own IP address, where receivers listen. All hosts reach it, from Enter's return on.
const Address = network + ".0.1"

// firstCut is the preference of the first rule of a cut. It is before localRule, so that a cut holds for the harness, too.
const (
	firstCut  = 100
	localRule = 32000
)

// slowRate gives a call of some kilobytes a tenth of a second or more, in each direction. The queue holds 2 s; what is more is dropped.
var slowRate = strings.Fields("tbf rate 128kbit burst 2kb latency 2s")

// link is a place's end of the network.
type link struct {
	name   string // of its network namespace
	device string // the router's end
	ip     string
}

// Place is a host, a node, or the harness.
type Place interface{ at() *link }

// Harness is where receivers listen.
var Harness Place = harness{}

type harness struct{}

func (harness) at() *link { return &link{ip: Address} }

// router makes links, and cuts them.
type router struct {
	mu    sync.Mutex
	links []*link
	cut   int         // how often something was cut
	cuts  map[int]cut // that are not healed
}

type cut struct{ from, to string }

// rule is the rule that drops what a cut is about.
func (c cut) rule(verb string, preference int) []string {
	return []string{"rule", verb, "pref", fmt.Sprint(preference), "from", c.from, "to", c.to, "blackhole"}
}

// prepareNetwork makes a new network namespace a router with the harness' address.
func prepareNetwork(ctx context.Context) error {
	for setting, value := range map[string]string{
		"ip_forward":             "1",
		"conf/all/rp_filter":     "0", // else a cut of the replies drops the requests, too: no route leads back
		"conf/default/rp_filter": "0",
	} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+setting, []byte(value), 0); err != nil {
			return err
		}
	}
	return batch(ctx, nil,
		"link set lo up",
		"addr add "+Address+"/32 dev lo",
		fmt.Sprint("rule add pref ", localRule, " lookup local"),
		"rule del pref 0",
	)
}

// add makes a network namespace with a link.
func (r *router) add(ctx context.Context, name string) (*link, error) {
	n := len(r.links) + 1
	l := &link{name: name, device: fmt.Sprint("link", n), ip: fmt.Sprintf("%s.%d.2", network, n)}
	gateway := fmt.Sprintf("%s.%d.1", network, n)
	if err := run(ctx, "ip", "netns", "add", name); err != nil {
		return nil, err
	}
	r.links = append(r.links, l)
	if err := batch(ctx, nil,
		"link add "+l.device+" type veth peer name eth0 netns "+name,
		"addr add "+gateway+"/30 dev "+l.device,
		"link set "+l.device+" up",
	); err != nil {
		return nil, err
	}
	return l, batch(ctx, l,
		"link set lo up",
		"addr add "+l.ip+"/30 dev eth0",
		"link set eth0 up",
		"route add default via "+gateway,
	)
}

// remove takes everything away that newRouter and add made.
func (r *router) remove(ctx context.Context) {
	r.healAll()
	for _, l := range r.links {
		_ = run(ctx, "ip", "netns", "del", l.name)
		_ = run(ctx, "ip", "link", "del", l.device) // the kernel does it by itself, later
	}
}

// drop cuts one direction, until heal.
func (r *router) drop(from, to *link) (heal func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, n := cut{from.ip, to.ip}, firstCut+r.cut
	r.cut++
	must(run(context.Background(), "ip", c.rule("add", n)...))
	r.cuts[n] = c
	return func() { r.heal(n) }
}

func (r *router) heal(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, there := r.cuts[n]; there {
		must(run(context.Background(), "ip", c.rule("del", n)...))
		delete(r.cuts, n)
	}
}

func (r *router) healAll() {
	r.mu.Lock()
	all := slices.Collect(maps.Keys(r.cuts))
	r.mu.Unlock()
	for _, n := range all {
		r.heal(n)
	}
}

// slow bounds how much a link carries, in both directions.
func (r *router) slow(l *link, on bool) error {
	out, in := []string{"qdisc", "replace", "dev", l.device, "root"}, []string{"-n", l.name, "qdisc", "replace", "dev", "eth0", "root"}
	rate := []string{"noqueue"} // what a veth has by itself
	if on {
		rate = slowRate
	}
	if err := run(context.Background(), "tc", slices.Concat(out, rate)...); err != nil {
		return err
	}
	return run(context.Background(), "tc", slices.Concat(in, rate)...)
}

// batch runs commands of ip in a link's namespace, or in the harness' own.
func batch(ctx context.Context, in *link, lines ...string) error {
	var args []string
	if in != nil {
		args = []string{"-n", in.name}
	}
	cmd := exec.CommandContext(ctx, "ip", append(args, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	return output(cmd)
}
