// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pollEvery is how often a process without a pidfd is looked at.
const pollEvery = 100 * time.Millisecond

// Process is a process of this host whose end can be awaited: a pidfd, so that a pid used again is never mistaken for it.
// Where the kernel has none (before 5.3, or forbidden by a filter) the process is looked at every 100 ms, and known by its
// start time. A Process is a handle: each is closed once, and the last one gives the pidfd back.
type Process struct {
	*shared
	close sync.Once
}

// shared is what the handles share.
type shared struct {
	pid     int
	uid     uint32
	start   uint64
	foreign bool
	mapped  bool
	pidfd   *os.File // nil: none to be had

	exited chan struct{}      // closes when the process has ended
	ctx    context.Context    // ends with the last handle
	cancel context.CancelFunc // of ctx

	mu      sync.Mutex // guards what follows
	handles int
	waiting chan struct{} // closes when the goroutine behind Exited has ended; nil: it was never started
}

// Open opens a process by pid. A zombie and a thread count as no process. Errors: ErrNone, or a pidfd or /proc
// that cannot be had.
func Open(pid int) (*Process, error) { return open(pid, unix.PidfdOpen) }

func open(pid int, pidfdOpen func(pid, flags int) (int, error)) (*Process, error) {
	before, err := readProcStat(pid)
	if err != nil {
		return nil, err
	}
	fd, err := pidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOENT): // the second of a thread, since 6.9
		return nil, ErrNone
	case noPidfd(err):
		fd = -1
	case err != nil:
		return nil, fmt.Errorf("cannot open a pidfd: %w", err)
	}
	p := newProcess(pid, fd)
	if err := p.describeByPID(before); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *shared) describeByPID(before procStat) error {
	status, err := readProcStatus(p.pid)
	if err != nil {
		return err
	}
	p.uid, p.start = status.uid, before.start
	p.setNamespaces(status)
	after, err := readProcStat(p.pid)
	if err != nil {
		return err
	}
	// The same start time on both sides of the opening: the pid was not given to another process in between.
	if status.pid != p.pid || after.start != before.start || p.gone() {
		return ErrNone
	}
	return nil
}

// noPidfd says whether an error of the kernel means that it has no pidfd to give, rather than that there is no process.
func noPidfd(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOPROTOOPT) ||
		errors.Is(err, unix.EPERM) // what some filters of system calls answer
}

// FromFD makes a Process of a pidfd that the kernel gave for a peer (SO_PEERPIDFD), of the peer's pid in this
// namespace (0 when it cannot be seen from here) and of its uid. The pidfd belongs to it from then on, also when it fails.
// Errors: ErrNone, or a /proc that cannot be read.
func FromFD(fd, pid int, uid uint32) (*Process, error) {
	p := newProcess(pid, fd)
	p.uid = uid
	if err := p.describeByFD(fd); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *shared) describeByFD(fd int) error {
	info, err := readPidfdInfo(fd)
	if err != nil {
		return err
	}
	if info.pid != p.pid {
		return ErrNone
	}
	p.setNamespaces(info)
	if p.pid != 0 {
		stat, err := readProcStat(p.pid)
		if err != nil {
			return err
		}
		p.start = stat.start
	}
	// Asked last: as long as the pidfd's process lives, the pid is its own, and so was the start time.
	if p.gone() {
		return ErrNone
	}
	return nil
}

func newProcess(pid, fd int) *Process {
	p := &shared{pid: pid, exited: make(chan struct{}), handles: 1}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if fd >= 0 {
		_ = unix.SetNonblock(fd, true) // what makes os.NewFile hand it to the poller
		p.pidfd = os.NewFile(uintptr(fd), "pidfd")
	}
	return &Process{shared: p}
}

// PID is the process' id in this PID namespace, 0 when it has none here.
func (p *shared) PID() int { return p.pid }

// UID is the user to whom the process belonged when it was opened.
func (p *shared) UID() uint32 { return p.uid }

// StartTime is when the process started, in clock ticks (1/100 s) since boot. With the pid it tells a process from all
// others of this boot. It is 0 when the process has no pid here.
func (p *shared) StartTime() uint64 { return p.start }

// ID tells a process from a later one with its pid. One that has no pid here, from another namespace, is known by its pidfd.
type ID struct {
	pid   int
	start uint64
	alien *shared
}

// ID is comparable, and the same for all handles on a process.
func (p *shared) ID() ID {
	if p.pid == 0 {
		return ID{alien: p}
	}
	return ID{pid: p.pid, start: p.start}
}

// Foreign says whether the process could not be shown to live in this PID namespace and this user namespace.
func (p *shared) Foreign() bool { return p.foreign }

// Mapped says whether the process could not be shown to live in this user namespace.
func (p *shared) Mapped() bool { return p.mapped }

// setNamespaces is told whether the process is one of this host. What cannot be read counts against it.
func (p *shared) setNamespaces(s procStatus) {
	p.mapped = p.pid == 0 || !sameUsers(p.pid)
	p.foreign = p.mapped || s.nsPid != 1
}

// Retain returns another handle on the same process.
func (p *shared) Retain() *Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handles++
	return &Process{shared: p}
}

// Close gives the handle back; the last one ends what Exited started, and waits for it. It is idempotent.
func (p *Process) Close() { p.close.Do(p.drop) }

func (p *shared) drop() {
	p.mu.Lock()
	p.handles--
	last, waiting := p.handles == 0, p.waiting
	p.mu.Unlock()
	if !last {
		return
	}
	p.cancel()
	if p.pidfd != nil {
		_ = p.pidfd.Close()
	}
	if waiting != nil {
		<-waiting
	}
}

// Exited returns the channel that closes when the process has ended, be it a zombie still. It does not close any more once
// the last handle is closed. The first call starts a goroutine that waits in the poller, without a thread of its own.
func (p *shared) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil && p.handles > 0 {
		p.waiting = make(chan struct{})
		go p.wait(p.waiting)
	}
	return p.exited
}

func (p *shared) wait(done chan<- struct{}) {
	defer close(done)
	if p.pidfd != nil && p.await() == nil {
		close(p.exited)
		return
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for p.ctx.Err() == nil {
		if p.gone() {
			close(p.exited)
			return
		}
		select {
		case <-p.ctx.Done():
		case <-tick.C:
		}
	}
}

// await returns nil when the process has ended. Its error says that the last handle is closed, or that the poller has no
// room for the pidfd.
func (p *shared) await() error {
	conn, err := p.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(isReadable)
}

// gone says whether the process has ended.
func (p *shared) gone() bool {
	if p.pidfd == nil {
		stat, err := readProcStat(p.pid)
		return errors.Is(err, ErrNone) || err == nil && (stat.ended || stat.start != p.start)
	}
	gone := false
	if conn, err := p.pidfd.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { gone = isReadable(fd) })
	}
	return gone
}

// isReadable says whether a pidfd is readable, which it becomes when its process ends.
func isReadable(fd uintptr) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}
