// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"bufio"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

// setup returns a proxy before a server, a client of each.
func setup(t *testing.T) (p *FaultProxy, through, direct *redis.Client) {
	t.Helper()
	s := Start(t)
	p = Proxy(t, s.SocketPath())
	o := s.Options()
	o.Network, o.Addr = "tcp", p.Addr()
	return p, client(t, o), s.Client()
}

func TestProxyPassesEverythingOn(t *testing.T) {
	t.Parallel()
	_, through, direct := setup(t)
	big := strings.Repeat("\r\n*$", 1<<18)
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			pipe := through.Pipeline()
			for range 50 {
				pipe.Set(context.Background(), key, big[:1000], 0)
				pipe.HSet(context.Background(), key+"h", "f", "v")
				pipe.HGetAll(context.Background(), key+"h")
				pipe.Get(context.Background(), "missing")
			}
			pipe.Set(context.Background(), key, big, 0)
			cmds, _ := pipe.Exec(context.Background())
			if got := cmds[2].(*redis.MapStringStringCmd).Val()["f"]; got != "v" {
				t.Errorf("HGETALL in a pipeline: %q", got)
			}
		})
	}
	wg.Wait()
	if get(t, direct, "a") != big || get(t, through, "d") != big {
		t.Error("a large value was changed on its way")
	}
	sub := through.Subscribe(t.Context(), "wake")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	direct.Publish(t.Context(), "wake", "up")
	if m := <-sub.Channel(); m.Payload != "up" {
		t.Errorf("a published message: %q", m.Payload)
	}
}

func TestProxyLosesOneReplyAfterTheCommandWasExecuted(t *testing.T) {
	t.Parallel()
	p, through, direct := setup(t)
	lost := p.LoseNextReply()
	if err := through.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("the reply arrived")
	}
	<-lost
	if n := get(t, direct, "n"); n != "1" {
		t.Fatalf("the command was executed %s times", n)
	}
	if n, err := through.Incr(t.Context(), "n").Result(); err != nil || n != 2 {
		t.Fatalf("the command after it: %d, %v", n, err)
	}
}

func TestProxyLosesTheReplyOfTheCommandThatWasMeant(t *testing.T) {
	t.Parallel()
	p, through, direct := setup(t)
	script := redis.NewScript("return redis.call('INCR', KEYS[1])")
	lost := p.LoseNextReply("eval", "ticket:w48")
	set(t, through, "ticket:w48x", "other")
	if err := through.Incr(t.Context(), "n").Err(); err != nil {
		t.Fatal(err)
	}
	// EVALSHA is answered NOSCRIPT, which is no execution; the EVAL that follows loses its reply.
	if err := script.Run(t.Context(), through, []string{"ticket:w48"}).Err(); err == nil {
		t.Fatal("the reply arrived")
	}
	<-lost
	if n := get(t, direct, "ticket:w48"); n != "1" {
		t.Fatalf("the script ran %s times", n)
	}
}

func TestProxyLosesTheRightReplyOfAPipeline(t *testing.T) {
	t.Parallel()
	p, through, direct := setup(t)
	lost := p.LoseNextReply("third")
	pipe := through.Pipeline()
	first, third := pipe.Incr(t.Context(), "first"), pipe.Incr(t.Context(), "third")
	_, _ = pipe.Exec(t.Context())
	<-lost
	if first.Val() != 1 || third.Val() != 0 { // go-redis says EOF for the whole pipeline
		t.Errorf("first: %d, third: %d", first.Val(), third.Val())
	}
	if n := get(t, direct, "third"); n != "1" {
		t.Errorf("third was executed %s times", n)
	}
}

func TestProxyCutRefuseRestore(t *testing.T) {
	t.Parallel()
	p, through, _ := setup(t)
	c := through.Conn()
	defer c.Close()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a cut connection answers")
	}
	eventually(t, "a new connection works", func() bool { return through.Ping(t.Context()).Err() == nil })
	p.Refuse()
	p.Refuse()
	if err := ping("tcp", p.Addr()); err == nil || !strings.Contains(err.Error(), unix.ECONNREFUSED.Error()) {
		t.Errorf("refused: %v", err)
	}
	p.Restore()
	p.Restore()
	eventually(t, "a restored proxy works", func() bool { return through.Ping(t.Context()).Err() == nil })
}

func TestProxyFreezeAndDelay(t *testing.T) {
	t.Parallel()
	p, through, direct := setup(t)
	set(t, through, "k", "v")
	p.Freeze()
	p.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := through.Set(ctx, "k", "w", 0).Err(); err == nil {
		t.Error("a frozen proxy answers")
	}
	if v := get(t, direct, "k"); v != "v" {
		t.Errorf("a frozen proxy passed a command on: %q", v)
	}
	p.Thaw()
	p.Thaw()
	if err := through.Ping(t.Context()).Err(); err != nil {
		t.Errorf("thawed: %v", err)
	}
	p.Delay(50 * time.Millisecond)
	start := time.Now()
	get(t, through, "k")
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("a delayed command took only %s", d)
	}
	p.Delay(0)
}

func TestProxyPassesTLSOn(t *testing.T) {
	t.Parallel()
	certs := NewTLS(t)
	s := Start(t, certs.Args()...)
	p := Proxy(t, s.Addr())
	o := s.Options()
	o.Network, o.Addr, o.TLSConfig = "tcp", p.Addr(), certs.Config()
	c := client(t, o)
	big := strings.Repeat("x", 1<<20)
	set(t, c, "k", big)
	if get(t, c, "k") != big {
		t.Error("a large value was changed on its way")
	}
	p.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("a frozen proxy answers")
	}
}

func TestReadValueTakesOneWholeValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"+OK\r\n", "-ERR no\r\n", ":12\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n",
		"$5\r\na\r\nb*\r\n", "=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n", "*2\r\n*1\r\n:1\r\n$1\r\na\r\n", "%1\r\n+a\r\n*0\r\n",
		"~1\r\n:1\r\n", ">2\r\n+message\r\n+x\r\n", "|1\r\n+ttl\r\n:1\r\n$1\r\na\r\n",
	} {
		in := bufio.NewReader(strings.NewReader(value + "+NEXT\r\n"))
		if got, err := readValue(in); err != nil || string(got) != value {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	for _, value := range []string{"GET / HTTP/1.1\r\n", "\x16\x03\x01", "*\n", "$5\r\nab"} {
		if got, err := readValue(bufio.NewReader(strings.NewReader(value))); err == nil || string(got) != value {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
}

// TestProxyKeepsItsPort: while it refuses connections nobody else can listen there.
func TestProxyKeepsItsPort(t *testing.T) {
	t.Parallel()
	p := Proxy(t, Start(t).SocketPath())
	p.Refuse()
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		_ = c.Close()
		t.Error("a connection is accepted")
	}
	if ln, err := net.Listen("tcp", p.Addr()); err == nil {
		_ = ln.Close()
		t.Error("another server has taken the port")
	}
	p.Restore()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
