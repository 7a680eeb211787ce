// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// errNoEcho says that no echo request could be sent: it was not asked for, or this user may not.
var errNoEcho = errors.New("no echo request was sent")

// The types of RFC 792 and RFC 4443.
const (
	echoRequest4, echoReply4 = 8, 0
	echoRequest6, echoReply6 = 128, 129
)

// echo sends echo requests, one a second, until one is answered. It needs no right but that of net.ipv4.ping_group_range; the
// kernel fills in identifier and checksum, and hands over this socket's replies only.
func echo(ctx context.Context, addr netip.Addr) error {
	family, protocol, request, reply := unix.AF_INET, unix.IPPROTO_ICMP, byte(echoRequest4), byte(echoReply4)
	var to unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte(addr.AsSlice()[:4])}
	if addr.Is6() {
		family, protocol, request, reply = unix.AF_INET6, unix.IPPROTO_ICMPV6, echoRequest6, echoReply6
		to = &unix.SockaddrInet6{Addr: addr.As16(), ZoneId: zoneOf(addr)}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoEcho, err)
	}
	if err := unix.Connect(fd, to); err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("cannot send ICMP: %w", err)
	}
	f := os.NewFile(uintptr(fd), "icmp")
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Now()) })()
	packet := [16]byte{0: request}
	for packet[7] = 1; ; packet[7]++ { // the sequence number
		if _, err := f.Write(packet[:]); err != nil {
			return fmt.Errorf("cannot send ICMP: %w", err)
		}
		if err := f.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return fmt.Errorf("cannot receive ICMP: %w", err)
		}
		var answer [64]byte
		n, err := f.Read(answer[:])
		switch {
		case err == nil && n > 0 && answer[0] == reply:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		}
	}
}

// zoneOf is the number of the interface that an IPv6 address names, 0 when it names none.
func zoneOf(addr netip.Addr) uint32 {
	i, err := net.InterfaceByName(addr.Zone())
	if err != nil {
		return 0
	}
	return uint32(i.Index)
}
