// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package reach asks whether an asset answers on the network. Offline is an asset of which every address was asked for the whole
// time-out and none answered. What cannot be asked from here is an error, and never "offline".
package reach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/sockapi/client"
)

// Bounds of the built-in check.
const (
	resolveTimeout = 10 * time.Second // resolving has its own time, beside that of the step
	LeastAsked     = time.Second      // for an answer: a slow line's round trip
	maxAddresses   = 8                // of a name that are asked, all at once
)

// What a refused connection means.
const (
	RefusedOffline = "offline"
	RefusedOnline  = "online"
)

// Question says how an asset is asked whether it is online.
type Question struct {
	TCP     []int         // ports: one that is open makes the asset online
	ICMP    bool          // an echo request beside the ports, where this user may send one
	Refused string        // what a refused connection means, if no port is open
	Timeout time.Duration // for all answers
}

// lookup finds the addresses of a name, as net.Resolver's LookupNetIP.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// onlineFacts are what the built-in check has seen.
type onlineFacts struct {
	Address   string   `json:"address"`             // that answered, else the first that was asked
	Addresses []string `json:"addresses,omitempty"` // that were asked, of a name that has several
	Open      []int    `json:"open"`                // ports that took the connection, at any address
	Refused   []int    `json:"refused"`             // of the others, ports that refused it
	Silent    []int    `json:"silent"`              // ports from which nothing came back
	Echo      *bool    `json:"echo,omitempty"`      // whether ICMP was answered, where it could be sent
}

// Ask asks an asset's ports, and ICMP beside them, at all of its addresses. An open port or an echo makes it online.
// Silence makes it offline, and so do refusals unless configured otherwise, because a firewall before a machine that is off
// sends them as well; but only when every address was asked for the whole time-out. What cannot be tried from here, because a
// name does not resolve or this host has no route, says nothing about the asset: it is an error.
func Ask(ctx context.Context, find lookup, c Question, asset string) (verdict.Record, error) {
	resolving, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	host, ports := target(resolving, asset, c.TCP)
	addrs, trouble := resolve(resolving, find, host)
	if len(addrs) == 0 {
		return verdict.Record{}, trouble
	}
	began := process.Boottime()
	ctx, cancel = context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	seen := make(chan asked, len(addrs))
	for _, addr := range addrs {
		go func() { seen <- askAddress(ctx, c, addr, ports) }()
	}
	answers := map[netip.Addr]asked{}
	for range addrs {
		one := <-seen
		answers[one.addr] = one
	}
	f := onlineFacts{Address: addrs[0].String(), Open: []int{}, Refused: []int{}, Silent: []int{}}
	open, refused := map[int]bool{}, map[int]bool{}
	for _, addr := range slices.Backward(addrs) { // the first that answers names itself last
		one := answers[addr]
		if one.trouble != nil {
			trouble = fmt.Errorf("%s: %w", addr, one.trouble)
		}
		answered := one.echo != nil && *one.echo
		for i, err := range one.dialled {
			open[ports[i]] = open[ports[i]] || err == nil
			refused[ports[i]] = refused[ports[i]] || errors.Is(err, syscall.ECONNREFUSED)
			answered = answered || err == nil
		}
		if one.echo != nil && (f.Echo == nil || answered) {
			f.Echo = one.echo
		}
		if answered {
			f.Address = addr.String()
		}
	}
	for _, port := range ports {
		switch {
		case open[port]:
			f.Open = append(f.Open, port)
		case refused[port]:
			f.Refused = append(f.Refused, port)
		default:
			f.Silent = append(f.Silent, port)
		}
	}
	if len(addrs) > 1 {
		for _, addr := range addrs {
			f.Addresses = append(f.Addresses, addr.String())
		}
	}
	if late := process.Boottime() - began - c.Timeout; late > LeastAsked && trouble == nil {
		trouble = errors.New("this process stood still while it asked")
	}
	return f.result(c, trouble)
}

// asked is what came back from one address.
type asked struct {
	addr    netip.Addr
	dialled []error // for each port
	echo    *bool   // nil when none could be sent
	trouble error   // what could not be tried from here
}

// askAddress asks ports and ICMP at one address, all at once, until ctx is done.
func askAddress(ctx context.Context, c Question, addr netip.Addr, ports []int) asked {
	a := asked{addr: addr, dialled: make([]error, len(ports)), trouble: unroutable(addr)}
	if a.trouble != nil {
		for i := range ports {
			a.dialled[i] = a.trouble
		}
		return a
	}
	var dials sync.WaitGroup
	for i, port := range ports {
		dials.Go(func() { a.dialled[i] = dial(ctx, netip.AddrPortFrom(addr, uint16(port))) })
	}
	err := errNoEcho
	if c.ICMP {
		err = echo(ctx, addr)
	}
	switch {
	case err == nil || isSilence(err):
		answered := err == nil
		a.echo = &answered
	case !errors.Is(err, errNoEcho):
		a.trouble = err
	case c.ICMP && len(ports) == 0:
		a.trouble = errors.New("this user may not send ICMP here (net.ipv4.ping_group_range): give tcp a port")
	}
	dials.Wait()
	for _, err := range a.dialled {
		if err != nil && !errors.Is(err, syscall.ECONNREFUSED) && !isSilence(err) {
			a.trouble = err
		}
	}
	return a
}

// unroutable says why an address cannot be asked from here at all. One that stands for no machine, as names have that are blocked,
// would be asked at this host; one that this host has a route against fails as if its network had said that nobody is there.
func unroutable(addr netip.Addr) error {
	if addr.IsUnspecified() {
		return errors.New("it is no machine's address")
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 9))) // it sends nothing
	if err == nil {
		return conn.Close()
	}
	return errors.Unwrap(err) // without the port
}

// result tells what the answers mean.
func (f onlineFacts) result(c Question, trouble error) (verdict.Record, error) {
	facts, err := plain.JSON(f)
	if err != nil {
		return verdict.Record{}, err
	}
	record := func(state, said string) (verdict.Record, error) {
		return verdict.Record{State: state, Facts: facts, Summary: said}, nil
	}
	echoed := f.Echo != nil && *f.Echo
	switch {
	case len(f.Open) > 0:
		return record(client.StateAssetOnline, onPorts(f.Open)+map[bool]string{true: " is open", false: " are open"}[len(f.Open) == 1])
	case echoed:
		return record(client.StateAssetOnline, "ICMP is answered")
	case len(f.Refused) > 0 && c.Refused == RefusedOnline:
		return record(client.StateAssetOnline, onPorts(f.Refused)+" refused the connection, so something is there")
	case trouble != nil:
		return verdict.Record{}, fmt.Errorf("cannot tell whether the asset is online: %w", trouble)
	case len(f.Refused) > 0:
		return record(client.StateAssetOffline, fmt.Sprintf("no port is open, %s refused", onPorts(f.Refused)))
	}
	return record(client.StateAssetOffline, "nothing answers")
}

func onPorts(ports []int) string {
	if len(ports) == 1 {
		return "port " + list(ports)
	}
	return "ports " + list(ports)
}

func list(ports []int) string {
	text := make([]string, len(ports))
	for i, p := range ports {
		text[i] = strconv.Itoa(p)
	}
	return strings.Join(text, ", ")
}

// target is the host to ask, and its ports: an asset that has one, as in 10.0.0.1:8080, is asked there alone, and so is a URL,
// at its own port or that of its scheme.
func target(ctx context.Context, asset string, ports []int) (host string, own []int) {
	if u, err := url.Parse(asset); err == nil && u.Scheme != "" && u.Hostname() != "" {
		port := cmp.Or(u.Port(), u.Scheme)
		if n, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err == nil && n > 0 {
			return u.Hostname(), []int{n}
		}
		return u.Hostname(), ports
	}
	if h, p, err := net.SplitHostPort(asset); err == nil && h != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err == nil && n > 0 {
			return h, []int{int(n)}
		}
	}
	return asset, ports
}

// resolve returns the addresses of a host, IPv4 before IPv6. The error says why there is none, or that there are more than are
// asked.
func resolve(ctx context.Context, find lookup, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	found, err := find(ctx, "ip", host)
	if err != nil || len(found) == 0 {
		reason := "there is no address"
		if e, ok := errors.AsType[*net.DNSError](err); ok {
			reason = e.Err
		}
		return nil, fmt.Errorf("cannot tell whether the asset is online: its name cannot be resolved (%s)", plain.Line(reason, 0))
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	if found = slices.Compact(found); len(found) > maxAddresses {
		return found[:maxAddresses], fmt.Errorf("its name has %d addresses, and %d were asked", len(found), maxAddresses)
	}
	return found, nil
}

func dial(ctx context.Context, to netip.AddrPort) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", to.String())
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// isSilence says whether nobody answered for the address, as a machine that is off does not: no answer in time, or nobody on
// its network who has the address.
func isSilence(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EHOSTDOWN)
}
