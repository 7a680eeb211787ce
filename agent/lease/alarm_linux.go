// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lease

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Boottime is CLOCK_BOOTTIME, which goes on while the machine sleeps. Go's own timers stand still then, and a claim's trust
// does not.
func Boottime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it fails for an unknown clock only
	return time.Duration(ts.Nano())
}

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
