// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

func TestStartServesSocketAndPortWithoutPersistence(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Client()
	set(t, c, "k", "v")
	o := s.Options()
	o.Network, o.Addr = "tcp", s.Addr()
	if v := get(t, client(t, o), "k"); v != "v" {
		t.Fatalf("over TCP: %q", v)
	}
	for name, want := range map[string]string{"save": "", "appendonly": "no", "maxmemory-policy": "noeviction"} {
		if got := c.ConfigGet(t.Context(), name).Val()[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if len(s.SocketPath()) > 107 {
		t.Errorf("the socket's path is too long: %s", s.SocketPath())
	}
	s.Restart()
	if n, err := c.Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Fatalf("after a restart: %d, %v", n, err)
	}
}

func TestRestartKeepsDataAndAddressesWithAppendonly(t *testing.T) {
	t.Parallel()
	s := Start(t, "--appendonly", "yes", "--appendfsync", "always")
	addr := s.Addr()
	set(t, s.Client(), "k", "v")
	s.Kill()
	if err := s.Client().Ping(t.Context()).Err(); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Restart()
	if v := get(t, s.Client(), "k"); v != "v" || s.Addr() != addr {
		t.Fatalf("after a restart at %s (before: %s): %q", s.Addr(), addr, v)
	}
}

func TestFreezeHoldsAnswersBackUntilThaw(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Client()
	set(t, c, "k", "v")
	s.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Get(ctx, "k").Err(); !errors.Is(err, context.DeadlineExceeded) && !os.IsTimeout(err) {
		t.Fatalf("frozen: %v", err)
	}
	s.Thaw()
	if v := get(t, c, "k"); v != "v" {
		t.Fatalf("thawed: %q", v)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"password": Password("p4ss word"),
		"user":     User("picket", "p4ssword"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, args...)
			set(t, s.Client(), "k", "v")
			o := s.Options()
			o.Username, o.Password = "", ""
			if err := client(t, o).Get(t.Context(), "k").Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
				t.Fatalf("without credentials: %v", err)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certs := NewTLS(t)
	s := Start(t, certs.Args()...)
	o := s.Options()
	o.Network, o.Addr = "tcp", s.Addr()
	if err := client(t, o).Ping(t.Context()).Err(); err == nil {
		t.Fatal("the port answers without TLS")
	}
	o.TLSConfig = certs.Config()
	set(t, client(t, o), "k", "v")
	o.TLSConfig = certs.Config()
	o.TLSConfig.Certificates = nil
	if err := client(t, o).Ping(t.Context()).Err(); err == nil {
		t.Fatal("a client without a certificate gets an answer")
	}
	s.Restart()
	if err := s.Client().Ping(t.Context()).Err(); err != nil {
		t.Fatalf("the Unix socket after a restart: %v", err)
	}
}

func TestServerOutlivesTheThreadThatStartedIt(t *testing.T) {
	t.Parallel()
	started := make(chan *Server)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		started <- Start(t)
	}()
	s := <-started
	c := s.Client()
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// The test runs itself again as a process that starts a server, says where, and is killed.
func TestServerEndsWithTheTestProcess(t *testing.T) {
	if out := os.Getenv("REDISTEST_OUT"); out != "" {
		s := Start(t)
		if err := os.WriteFile(out, []byte(s.SocketPath()), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(os.Getpid(), unix.SIGKILL)
	}
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerEndsWithTheTestProcess$")
	cmd.Env = append(os.Environ(), "REDISTEST_OUT="+out)
	_ = cmd.Run()
	socket, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(string(socket))) })
	eventually(t, "the server is gone", func() bool {
		_, err := net.Dial("unix", string(socket))
		return errors.Is(err, unix.ECONNREFUSED)
	})
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := StartCluster(t)
	c := cluster.Client()
	for i := range 100 {
		set(t, c, "k"+strconv.Itoa(i), "v")
	}
	for _, s := range cluster.Servers {
		if n := s.Client().DBSize(t.Context()).Val(); n == 0 {
			t.Errorf("%s holds no keys", s.Addr())
		}
	}
	if n := cluster.Server("k1").Client().Exists(t.Context(), "k1").Val(); n != 1 {
		t.Error("Server names a master that does not serve the key")
	}
	err := c.Eval(t.Context(), "return redis.call('EXISTS', KEYS[1], KEYS[2])", []string{"{a}k", "{b}k"}).Err()
	if err == nil || !strings.Contains(err.Error(), "CROSSSLOT") && !strings.Contains(err.Error(), "same slot") {
		t.Errorf("keys in two slots: %v", err)
	}
}

func TestReplicatedCluster(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"plain": nil, "user": User("picket", "p4ssword")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := StartReplicatedCluster(t, args...)
			set(t, cluster.Client(), "k", "v")
			for i, s := range cluster.Servers {
				if s != cluster.Server("k") {
					continue
				}
				replica := cluster.Replicas[i].Client()
				eventually(t, "the replica has what its master has", func() bool { return replica.DBSize(t.Context()).Val() == 1 })
			}
		})
	}
}

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"plain": nil, "user": User("picket", "p4ssword")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := StartSentinel(t, args...)
			c := s.Client()
			set(t, c, "k", "v")
			s.Master.Kill()
			eventually(t, "the replica takes over", func() bool {
				return c.Set(t.Context(), "k", "w", 0).Err() == nil
			})
			if v := get(t, s.Replica.Client(), "k"); v != "w" {
				t.Fatalf("the old replica holds %q", v)
			}
		})
	}
}

func client(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func set(t *testing.T, c redis.Cmdable, key, value string) {
	t.Helper()
	if err := c.Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c redis.Cmdable, key string) string {
	t.Helper()
	v, err := c.Get(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(startTimeout); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", startTimeout, what)
		}
	}
}
