// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

func TestEveryModeOfRedisConnects(t *testing.T) {
	t.Parallel()
	login := RedisConfig{Username: "picket", PasswordFile: write(t, "password", "hunter2\n")}
	for name, setup := range map[string]func(t *testing.T) RedisConfig{
		"standalone": func(t *testing.T) RedisConfig {
			return RedisConfig{Mode: Standalone, Addrs: []string{redistest.Start(t).Addr()}, DB: 3}
		},
		"unix socket": func(t *testing.T) RedisConfig {
			return RedisConfig{Mode: Standalone, Addrs: []string{"unix://" + redistest.Start(t).SocketPath()}}
		},
		"user and password": func(t *testing.T) RedisConfig {
			c := login
			c.Mode, c.Addrs = Standalone, []string{redistest.Start(t, redistest.User("picket", "hunter2")...).Addr()}
			return c
		},
		"password only": func(t *testing.T) RedisConfig {
			s := redistest.Start(t, redistest.Password("hunter2")...)
			return RedisConfig{Mode: Standalone, Addrs: []string{s.Addr()}, PasswordFile: login.PasswordFile}
		},
		"TLS": func(t *testing.T) RedisConfig {
			cert := redistest.NewTLS(t)
			s := redistest.Start(t, cert.Args()...)
			return RedisConfig{
				Mode: Standalone, Addrs: []string{strings.Replace(s.Addr(), "127.0.0.1", "localhost", 1)},
				TLS: &TLSConfig{CAFile: cert.CAFile, CertFile: cert.CertFile, KeyFile: cert.KeyFile},
			}
		},
		"TLS with a name": func(t *testing.T) RedisConfig {
			cert := redistest.NewTLS(t)
			s := redistest.Start(t, cert.Args()...)
			return RedisConfig{
				Mode: Standalone, Addrs: []string{s.Addr()},
				TLS: &TLSConfig{CAFile: cert.CAFile, CertFile: cert.CertFile, KeyFile: cert.KeyFile, ServerName: "localhost"},
			}
		},
		"sentinel": func(t *testing.T) RedisConfig {
			s := redistest.StartSentinel(t, redistest.Password("hunter2")...)
			return RedisConfig{Mode: Sentinel, Addrs: s.Addrs(), Master: s.MasterName, PasswordFile: login.PasswordFile}
		},
		"cluster": func(t *testing.T) RedisConfig {
			c := login
			c.Mode, c.Addrs = Cluster, redistest.StartCluster(t, redistest.User("picket", "hunter2")...).Addrs()
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setup(t)
			c.Prefix = "picket"
			var k checker
			if c.check(&k); len(k.Problems) > 0 {
				t.Fatal(k.Problems)
			}
			client, err := c.client(0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := client.Set(ctx, "picket:{a}:x", "1", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := checkSettings(ctx, client); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTLSIsNotTakenFromAnUnknownAuthority(t *testing.T) {
	t.Parallel()
	ours, theirs := redistest.NewTLS(t), redistest.NewTLS(t)
	s := redistest.Start(t, theirs.Args()...)
	c := RedisConfig{Mode: Standalone, Addrs: []string{s.Addr()}, TLS: &TLSConfig{CAFile: ours.CAFile}}
	client, err := c.client(0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

// Below the engine nothing is tried again, and nothing outlasts its time: a call to a frozen Redis ends after one time-out,
// and sooner if its context does.
func TestF32_ACallToAFrozenRedisEndsInTime(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	client, err := RedisConfig{Mode: Standalone, Addrs: []string{s.Addr()}}.client(0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	defer s.Thaw()
	calls := int64(1)
	for limit, most := range map[time.Duration]time.Duration{
		50 * time.Millisecond: redisTimeout, // the context's end, not the read's
		time.Minute:           3 * redisTimeout,
	} {
		took := most
		for tries := 0; took >= most && tries < 3; tries++ { // a machine that stands still makes a call look slow
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			start := time.Now()
			if err := client.Incr(ctx, "n").Err(); err == nil {
				t.Error("a frozen Redis has answered")
			}
			cancel()
			took = time.Since(start)
			calls++
		}
		if took >= most {
			t.Errorf("with %s left, the call took %s", limit, took)
		}
	}
	s.Thaw()
	deadline := time.Now().Add(time.Minute)
	for client.Ping(t.Context()).Err() != nil && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if n, err := client.Incr(t.Context(), "n").Result(); err != nil || n > calls {
		t.Errorf("%d calls have counted to %d, %v", calls, n, err)
	}
}

func TestAWriteWhoseReplyIsLostIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	proxy := redistest.Proxy(t, s.Addr())
	client, err := RedisConfig{Mode: Standalone, Addrs: []string{proxy.Addr()}}.client(0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	lost := proxy.LoseNextReply("incr")
	if n, err := client.Incr(t.Context(), "n").Result(); err == nil {
		t.Errorf("the reply was lost, and yet it is %d", n)
	}
	<-lost
	if n, err := s.Client().Get(t.Context(), "n").Int(); err != nil || n != 1 {
		t.Errorf("it was counted to %d, %v", n, err)
	}
}
