// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/picketd/picket/engine/store"
)

const (
	redisTimeout = time.Second // for a dial, a read, a write
	poolSize     = 64          // connections to one server, beside those of subscriptions

	// Of each connection and direction. A ticket that is larger takes more than one read.
	bufferSize   = 8 << 10
	pipelineSize = 32 << 10 // where what is called at once is sent together
)

// login is a RedisLogin with the password read.
type login struct{ username, password string }

func (l RedisLogin) read() (login, error) {
	if l.PasswordFile == "" {
		return login{}, nil
	}
	password, err := readSecret(l.PasswordFile)
	return login{l.Username, password}, err
}

// client makes a client for the mode, which connects when it is first used. Nothing is tried a second time below the engine:
// a write whose reply was lost is the engine's to repeat. An answer may take so much longer than others.
func (r RedisConfig) client(longer time.Duration) (redis.UniversalClient, error) {
	user, err := RedisLogin{r.Username, r.PasswordFile}.read()
	if err != nil {
		return nil, err
	}
	sentinel, err := r.Sentinel.read()
	if err != nil {
		return nil, err
	}
	secure, err := r.TLS.config()
	if err != nil {
		return nil, err
	}
	o := redis.UniversalOptions{
		Addrs:      slices.Clone(r.Addrs), // a Cluster's client appends to them
		MasterName: r.Master, DB: r.DB,
		Username: user.username, Password: user.password, TLSConfig: secure,
		SentinelUsername: sentinel.username, SentinelPassword: sentinel.password,

		ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, PoolSize: poolSize,
		DialTimeout: redisTimeout, ReadTimeout: redisTimeout + longer, WriteTimeout: redisTimeout,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize, PipelineReadBufferSize: pipelineSize, PipelineWriteBufferSize: pipelineSize,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch r.Mode {
	case Sentinel:
		return redis.NewFailoverClient(o.Failover()), nil
	case Cluster:
		cluster := redis.NewClusterClient(o.Cluster())
		store.Follow(cluster)
		return cluster, nil
	}
	simple := o.Simple()
	if path, ok := strings.CutPrefix(simple.Addr, "unix://"); ok {
		simple.Network, simple.Addr = "unix", path
	}
	return redis.NewClient(simple), nil
}

// config is nil without a table.
func (t *TLSConfig) config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pool, err := t.authorities()
		if err != nil {
			return nil, err
		}
		c.RootCAs = pool
	}
	if t.CertFile != "" {
		pair, err := t.certificate()
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// redisLog carries what go-redis says to slog. go-redis has one logger for the whole process.
type redisLog struct{ log *slog.Logger }

// Printf takes go-redis' word.
func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	l.log.DebugContext(ctx, "go-redis: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
}
