// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/sockapi/client"
)

// Alarm goes off at a moment of CLOCK_BOOTTIME, at once if that has passed while the machine or this process stood still.
type Alarm struct {
	C <-chan struct{} // capacity 1

	fd   int
	file *os.File
	done chan struct{} // closes when the reader has ended
}

// NewAlarm makes an alarm that is not set. Stop ends it.
func NewAlarm() (*Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make a timer: %w", err)
	}
	c := make(chan struct{}, 1)
	a := &Alarm{C: c, fd: fd, file: os.NewFile(uintptr(fd), "timerfd"), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		var expirations [8]byte
		for {
			if _, err := a.file.Read(expirations[:]); err != nil {
				return
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return a, nil
}

// Set moves the alarm to a moment after zero.
func (a *Alarm) Set(at time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(at, 1)))}
	_ = unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil) // the descriptor and the time are right
}

// Stop ends the alarm.
func (a *Alarm) Stop() {
	_ = a.file.Close()
	<-a.done
}

// watchPause is the least time from one watch call to the next, answered or failed.
const watchPause = 50 * time.Millisecond

// firstLook is within what it must be told when the trust in a new claim ends.
const firstLook = 5 * time.Second

// Sight is what the daemon last said of a claim.
type Sight struct {
	Trust    client.Trust // on CLOCK_BOOTTIME; zero when nothing was said
	Released bool
	Lost     string // the reason; empty while it is not lost
	Err      error  // why nothing was said
}

// Silence is the reason of a loss that nobody told of: the deadline came, and the last call ended with err.
func Silence(err error) string {
	const late = "for as long as it could be trusted"
	switch what := Away(err); what {
	case "", "the daemon does not answer":
		return "no answer from the daemon " + late
	default:
		return strings.Replace(what, " is ", " was ", 1) + " " + late
	}
}

// Look asks once.
func Look(ctx context.Context, cl *client.Client, id string, wait time.Duration) Sight {
	sent := process.Boottime()
	claim, err := cl.WatchClaim(ctx, id, wait)
	if p, ok := errors.AsType[*client.Problem](err); ok && isLostCode(p.Code) {
		if p.Reason != "" {
			return Sight{Lost: p.Reason}
		}
		return Sight{Lost: strings.ToLower(string(p.Code))}
	}
	switch {
	case err != nil:
		return Sight{Err: err} // unknown is not lost: the deadline decides
	case claim.Status == client.StatusReleased:
		return Sight{Released: true}
	case claim.Status == client.StatusHeld:
		return Sight{Trust: claim.TrustSince(sent)}
	case claim.Reason != nil:
		return Sight{Lost: *claim.Reason}
	}
	return Sight{Lost: claim.Status}
}

// First is what the daemon says of a claim whose answer did not tell when its trust began. A daemon that just restarts is asked again for
// 5 s.
func First(ctx context.Context, cl *client.Client, id string) Sight {
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	var last Sight // with why, which the end of the time does not tell
	for {
		s := Look(ctx, cl, id, 0)
		if ctx.Err() != nil && last.Err != nil {
			return last
		}
		if !Transient(s.Err) {
			return s
		}
		last = s
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
			return last
		}
	}
}

// WhyLost asks for the reason of a loss that the deadline told of: the daemon may know it now. It takes a third of the margin at
// most.
func WhyLost(cl *client.Client, claim client.Claim) string {
	margin := time.Duration(claim.MarginMS) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), margin/3)
	defer cancel()
	s := Look(ctx, cl, claim.ID, margin/6)
	if s.Lost != "" {
		return s.Lost
	}
	return Silence(s.Err)
}

// Watch goes on asking and hands out every sight, until ctx is done or the claim has ended. Then it closes sights.
//
// It asks for an answer within half the time that is left: the deadline counts from when a call was sent, so an answer that
// came only when the daemon had to give one would often come after the deadline of the one before.
func Watch(ctx context.Context, cl *client.Client, id string, deadline time.Duration, sights chan<- Sight) {
	defer close(sights)
	for {
		s := Look(ctx, cl, id, max((deadline-process.Boottime())/2, watchPause))
		select {
		case sights <- s:
		case <-ctx.Done():
			return
		}
		if s.Released || s.Lost != "" {
			return
		}
		if deadline = max(deadline, s.Trust.Until); s.Trust.Until == 0 {
			select {
			case <-time.After(watchPause):
			case <-ctx.Done():
				return
			}
		}
	}
}
