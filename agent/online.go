// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
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
	"syscall"
	"time"
)

// The states to which the steps lead.
const (
	stateInit     = "INIT"
	stateOnline   = "ASSET_ONLINE"
	stateOffline  = "ASSET_OFFLINE"
	stateChecked  = "VULN_CHECK_DONE"
	stateHighRisk = "HIGH_RISK_FOUND"
	stateTelling  = "NOTIFYING"
	stateTold     = "NOTIFIED"
	stateFinished = "FINISHED"
	stateFailed   = "FAILED"
)

// onlineFacts are what the built-in check has seen.
type onlineFacts struct {
	Address string `json:"address"`        // that was asked
	Open    []int  `json:"open"`           // ports that took the connection
	Refused []int  `json:"refused"`        // ports that refused it
	Silent  []int  `json:"silent"`         // ports from which nothing came back
	Echo    *bool  `json:"echo,omitempty"` // whether ICMP was answered, where it could be sent
}

// checkOnline asks an asset's ports, and ICMP beside them. An open port or an echo makes it online. Silence makes it offline,
// and so do refusals unless configured otherwise, because a firewall before a machine that is off sends them as well. What
// cannot be tried from here, because a name does not resolve or this host has no route, says nothing about the asset: it is an
// error.
func checkOnline(ctx context.Context, c OnlineConfig, asset string) (result, error) {
	host, ports := target(ctx, asset, c.TCP)
	addr, err := resolve(ctx, host)
	if err != nil {
		return result{}, err
	}
	// The time is the attempt's; a little of it is kept for the answer.
	if until, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until.Add(-time.Until(until)/10))
		defer cancel()
	}
	dialled, echoed := make([]error, len(ports)), make(chan error, 1)
	if c.ICMP {
		go func() { echoed <- echo(ctx, addr) }()
	} else {
		echoed <- errNoEcho
	}
	tried := make(chan struct{})
	for i, port := range ports {
		go func() {
			dialled[i] = dial(ctx, netip.AddrPortFrom(addr, uint16(port)))
			tried <- struct{}{}
		}()
	}
	for range ports {
		<-tried
	}
	f := onlineFacts{Address: addr.String(), Open: []int{}, Refused: []int{}, Silent: []int{}}
	var trouble error
	for i, port := range ports {
		switch err := dialled[i]; {
		case err == nil:
			f.Open = append(f.Open, port)
		case errors.Is(err, syscall.ECONNREFUSED):
			f.Refused = append(f.Refused, port)
		case isSilence(err):
			f.Silent = append(f.Silent, port)
		default:
			trouble = err
		}
	}
	switch err := <-echoed; {
	case err == nil || isSilence(err):
		answered := err == nil
		f.Echo = &answered
	case !errors.Is(err, errNoEcho):
		trouble = err
	case c.ICMP && len(ports) == 0:
		trouble = errors.New("this user may not send ICMP here (net.ipv4.ping_group_range): give tcp a port")
	}
	return f.result(c, trouble)
}

// result tells what the answers mean.
func (f onlineFacts) result(c OnlineConfig, trouble error) (result, error) {
	facts, err := encode(f)
	if err != nil {
		return result{}, err
	}
	echoed := f.Echo != nil && *f.Echo
	switch {
	case len(f.Open) > 0:
		return result{stateOnline, facts, fmt.Sprintf("port %s is open", list(f.Open))}, nil
	case echoed:
		return result{stateOnline, facts, "ICMP is answered"}, nil
	case len(f.Refused) > 0 && c.Refused == refusedOnline:
		return result{stateOnline, facts, fmt.Sprintf("port %s refused the connection, so something is there", list(f.Refused))}, nil
	case trouble != nil:
		return result{}, blame(fmt.Errorf("cannot tell whether the asset is online: %w", trouble))
	case len(f.Refused) > 0:
		return result{stateOffline, facts, fmt.Sprintf("no port is open, %s refused", list(f.Refused))}, nil
	}
	return result{stateOffline, facts, "nothing answers"}, nil
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
		port := orElse(u.Port(), u.Scheme)
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

// resolve returns the address of a host; of several the first, IPv4 before IPv6.
func resolve(ctx context.Context, host string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap(), nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(found) == 0 {
		reason := "there is no address"
		if e, ok := errors.AsType[*net.DNSError](err); ok {
			reason = e.Err
		}
		return netip.Addr{}, fmt.Errorf("cannot tell whether the asset is online: its name cannot be resolved (%s)", printable(reason))
	}
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	return found[0].Unmap(), nil
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
