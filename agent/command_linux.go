// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	exitLater = 75 // with which a command says: not now

	endGrace   = 3 * time.Second // from TERM to KILL, when no lost claim hurries
	drainGrace = 2 * time.Second // for output that is still on its way when the command has ended, or that nobody wants any more
)

// errLater is a command's exit with 75.
var errLater = errors.New("says that it is to be tried later (exit 75)")

// invocation is one run of a command.
type invocation struct {
	argv, env []string
	stdin     []byte // nil: nothing, from /dev/null
	okExit    []int
	limit     int64 // of standard output, in bytes
	stderr    func(line string)
	consume   func(io.Reader) error // reads standard output
}

// run runs the command to its end, in a process group of its own that does not outlive it. Its error says what was wrong with
// the way it ended, or with what it wrote. When ctx is done, the group gets TERM, and KILL after endGrace or, of a lost claim,
// when the LostError says.
func (in *invocation) run(ctx context.Context) error {
	p, err := in.start()
	if err != nil {
		return err
	}
	consumed, logged, drained := make(chan error, 1), make(chan string, 1), make(chan struct{})
	defer func() {
		p.reap()
		<-drained
	}()
	stdout := &limited{r: p.stdout, left: in.limit, limit: in.limit}
	go func() {
		defer close(drained)
		err := in.consume(stdout)
		consumed <- err
		if err != nil { // let it end by itself: its exit may say more than what it wrote
			_, _ = io.Copy(io.Discard, p.stdout)
		}
	}()
	go func() { logged <- logLines(p.stderr, in.stderr) }()

	var parseErr error
	done, parsed, killed := ctx.Done(), false, false
	var kill <-chan time.Time
	for ended := false; !ended; {
		select {
		case <-p.ended:
			ended = true
		case <-done:
			done = nil
			p.signal(unix.SIGTERM)
			p.signal(unix.SIGCONT)
			kill = time.After(killDelay(ctx))
		case <-kill:
			killed = true
			p.signal(unix.SIGKILL)
		case parseErr = <-consumed:
			consumed, parsed = nil, true
			if parseErr != nil && kill == nil {
				kill = time.After(drainGrace)
			}
		}
	}
	// Others of its group may still hold the pipes open, and others than those, too.
	if !parsed {
		parseErr = awaitEnd(consumed, stdout, p, ctx.Err() != nil)
	}
	p.signal(unix.SIGKILL)
	last := ""
	select {
	case last = <-logged:
	case <-time.After(drainGrace):
		_ = p.stderr.Close()
		last = <-logged
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if killed {
		return in.unusable(parseErr)
	}
	return in.verdict(p.status(), parseErr, last)
}

// awaitEnd waits for the reader of standard output, which ends when nobody holds the pipe any more.
func awaitEnd(consumed <-chan error, stdout *limited, p *process, hurry bool) error {
	if !hurry {
		select {
		case err := <-consumed:
			return err
		case <-time.After(drainGrace):
		}
	}
	p.signal(unix.SIGKILL)
	select {
	case err := <-consumed:
		return err
	case <-time.After(drainGrace):
	}
	_ = p.stdout.Close()
	if err := <-consumed; stdout.ended.Load() {
		return err
	}
	return errors.New("has ended, but something that it started still holds its output open: nobody can tell whether that was all")
}

// verdict says what was wrong with a command that ended by itself.
func (in *invocation) verdict(status syscall.WaitStatus, parseErr error, lastLine string) error {
	said := ""
	if lastLine != "" {
		said = ": " + lastLine
	}
	switch {
	case status.Signaled():
		return fmt.Errorf("%s was ended by signal %d (%s)%s", in.argv[0], status.Signal(), status.Signal(), said)
	case status.Exited() && slices.Contains(in.okExit, status.ExitStatus()):
		return in.unusable(parseErr)
	case status.ExitStatus() == exitLater:
		return fmt.Errorf("%s %w%s", in.argv[0], errLater, said)
	}
	return fmt.Errorf("%s ended with %d, which is not among ok_exit %v%s", in.argv[0], status.ExitStatus(), in.okExit, said)
}

// unusable says what was wrong with the output, if anything was.
func (in *invocation) unusable(parseErr error) error {
	if parseErr == nil {
		return nil
	}
	return fmt.Errorf("the output of %s cannot be used: %w", in.argv[0], parseErr)
}

// killDelay is how long a command that was asked to end may take.
func killDelay(ctx context.Context) time.Duration {
	if lost, ok := errors.AsType[*LostError](context.Cause(ctx)); ok {
		return max(lost.killAt-Boottime(), 0)
	}
	return endGrace
}

// process is a started command, the leader of its group.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *os.File
	ended          chan struct{} // closes when the leader has ended; it stays a zombie until reap, so that its id is not used again
	reaping        chan struct{} // reap closes it
	reaped         chan struct{} // closes when it is gone
}

func (in *invocation) start() (*process, error) {
	stdin, err := in.input()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer outW.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = outR.Close()
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer errW.Close()
	p := &process{
		cmd: exec.Command(in.argv[0], in.argv[1:]...), stdout: outR, stderr: errR,
		ended: make(chan struct{}), reaping: make(chan struct{}), reaped: make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in.env, stdin, outW, errW
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go p.attend(started)
	if err := <-started; err != nil {
		_, _ = outR.Close(), errR.Close()
		return nil, fmt.Errorf("cannot run %s: %w", in.argv[0], err)
	}
	return p, nil
}

// attend starts the command and stays on its thread until it is reaped: PDEATHSIG goes off when the thread that forked ends.
func (p *process) attend(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.reaped)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	close(p.ended)
	<-p.reaping
	_ = p.cmd.Wait() // status says what became of it
}

// signal sends s to the whole group, as long as its leader was not reaped.
func (p *process) signal(s syscall.Signal) { _ = unix.Kill(-p.cmd.Process.Pid, s) }

// status is how the ended leader ended.
func (p *process) status() syscall.WaitStatus {
	p.reap()
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// reap takes the ended leader away. It may be called twice, by the goroutine that started the command.
func (p *process) reap() {
	select {
	case <-p.reaping:
	default:
		close(p.reaping)
	}
	<-p.reaped
	_, _ = p.stdout.Close(), p.stderr.Close()
}

// input is what the command has for standard input.
func (in *invocation) input() (*os.File, error) {
	if in.stdin == nil {
		return os.Open(os.DevNull)
	}
	return memoryFile(in.stdin)
}

// memoryFile is a file in memory with that content, to be read from its beginning.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("ticket", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "ticket")
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("cannot fill a file in memory: %w", err)
	}
	return f, nil
}
