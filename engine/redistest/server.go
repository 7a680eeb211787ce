// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sys/unix"
)

// Server is a running redis-server.
type Server struct {
	t    testing.TB
	dir  string
	port int
	args []string // after the defaults, so that they win

	command func() []string // what follows the program, for the port of the moment

	mu     sync.Mutex // guards what follows
	proc   *os.Process
	exited chan struct{} // closes when proc has ended
}

// Start runs a redis-server on a Unix socket and a free loopback port, without persistence and with noeviction. The args
// are redis-server's own and win over that: "--appendonly", "yes". See also Password, User and TLS.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := newServer(t, args)
	s.launchOnFreePort()
	return s
}

// program is the server that the tests run on: redis-server, or what PICKET_REDIS_SERVER names, such as valkey-server.
func program() string { return cmp.Or(os.Getenv("PICKET_REDIS_SERVER"), "redis-server") }

func newServer(t testing.TB, args []string) *Server {
	t.Helper()
	if _, err := exec.LookPath(program()); err != nil {
		t.Fatalf("cannot find %s in PATH: install Debian's redis-server", program())
	}
	// Not t.TempDir: a Unix socket's path has at most 107 bytes, and that one grows with the test's name.
	dir, err := os.MkdirTemp("", "picket-redis-")
	check(t, err, "cannot make a folder for redis-server")
	s := &Server{t: t, dir: dir, args: args}
	s.command = s.dataCommand
	t.Cleanup(func() {
		s.stop()
		_ = os.RemoveAll(dir)
	})
	return s
}

// Addr is the server's address on loopback, host:port. With TLS it speaks TLS only.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// SocketPath is the path of the server's Unix socket, which never speaks TLS.
func (s *Server) SocketPath() string { return filepath.Join(s.dir, "redis.sock") }

// Options connect to the server's Unix socket with its credentials, and retry nothing. They are the caller's to change.
func (s *Server) Options() *redis.Options {
	user, password := credentials(s.args)
	return &redis.Options{
		Network:                  "unix",
		Addr:                     s.SocketPath(),
		Username:                 user,
		Password:                 password,
		ContextTimeoutEnabled:    true,
		DialerRetries:            1,
		MaxRetries:               -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Client returns a new client with Options, closed when the test ends.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(s.Options())
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// with hands over a client that is closed afterwards.
func (s *Server) with(do func(*redis.Client)) {
	c := redis.NewClient(s.Options())
	defer c.Close()
	do(c)
}

// Freeze stops the server with SIGSTOP: connections stay, nothing is answered.
func (s *Server) Freeze() { s.signal(unix.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.signal(unix.SIGCONT) }

// Kill ends the server with SIGKILL and waits until it is gone.
func (s *Server) Kill() {
	s.t.Helper()
	s.stop()
}

// Restart starts the server again at the same addresses, and kills it first if it runs. Without --appendonly its data is
// lost.
func (s *Server) Restart() {
	s.t.Helper()
	s.stop()
	if err := s.launch(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		s.t.Fatalf("cannot send %v: redis-server is not running", sig)
	}
	if err := s.proc.Signal(sig); err != nil {
		s.t.Fatalf("cannot send %v to redis-server: %v", sig, err)
	}
}

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return
	}
	_ = s.proc.Kill()
	<-s.exited
	s.proc = nil
}

// dataCommand is the command line of a server that holds data.
func (s *Server) dataCommand() []string {
	port, tlsPort := strconv.Itoa(s.port), "0"
	if slices.Contains(s.args, "--tls-cert-file") {
		port, tlsPort = tlsPort, port
	}
	return append([]string{
		"--bind", "127.0.0.1", "--port", port, "--tls-port", tlsPort,
		"--unixsocket", s.SocketPath(), "--unixsocketperm", "700",
		"--dir", s.dir, "--logfile", s.logPath(), "--daemonize", "no",
		"--save", "", "--maxmemory-policy", "noeviction",
		"--repl-diskless-sync-delay", "0",
	}, s.args...)
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "redis.log") }

// launchOnFreePort tries again on another port when somebody else took the one that was free a moment ago.
func (s *Server) launchOnFreePort() {
	s.t.Helper()
	for try := 1; ; try++ {
		s.port = freePort(s.t)
		err := s.launch()
		if err == nil {
			return
		}
		if try == 5 || !errors.Is(err, errPortTaken) {
			s.t.Fatal(err)
		}
	}
}

var errPortTaken = errors.New("the port was taken")

// launch runs redis-server until it answers.
func (s *Server) launch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = os.Remove(s.logPath())
	cmd := exec.Command(program(), s.command()...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	started, exited := make(chan error), make(chan struct{})
	go func() {
		defer close(exited)
		// PDEATHSIG goes off when the thread that forked ends, not the process: keep that thread until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("cannot start redis-server: %w", err)
	}
	if err := waitForPong("unix", s.SocketPath(), exited); err != nil {
		_ = cmd.Process.Kill()
		<-exited
		log, _ := os.ReadFile(s.logPath())
		if bytes.Contains(log, []byte("Address already in use")) {
			return errPortTaken
		}
		return fmt.Errorf("cannot start redis-server: %w; its log says:\n%s", err, log)
	}
	s.proc, s.exited = cmd.Process, exited
	return nil
}
