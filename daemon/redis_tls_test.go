// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestAConnectionThatTLSRefusesSaysWhatWouldBeRight: in picket daemon --check, in what picket doctor asks, and of a daemon in its log, in
// /readyz and in picket status.
func TestAConnectionThatTLSRefusesSaysWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	good, other := redistest.NewTLS(t), redistest.NewTLS(t)
	expired := redistest.NewTLS(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early := redistest.NewTLS(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) })
	named := redistest.NewTLS(t, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"redis.example.com"}, nil })
	byAddress := redistest.NewTLS(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 9)} })
	both := func(c *redistest.TLS) *TLSConfig {
		return &TLSConfig{CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile}
	}
	start := func(c *redistest.TLS, args ...string) string {
		return redistest.Start(t, append(c.Args(), args...)...).Addr()
	}
	needsNone := []string{"--tls-auth-clients", "no"}
	for name, c := range map[string]struct {
		addr string
		tls  *TLSConfig
		says string
	}{
		"all is well":              {start(good), both(good), ""},
		"no certificate is needed": {start(good, needsNone...), &TLSConfig{CAFile: good.CAFile}, ""},
		"wrong authority":          {start(other, needsNone...), &TLSConfig{CAFile: good.CAFile}, "redis.tls.ca_file: write the authority that signed"},
		"system's authorities":     {start(other, needsNone...), &TLSConfig{}, "redis.tls.ca_file: write the authority that signed"},
		"expired":                  {start(expired, needsNone...), &TLSConfig{CAFile: expired.CAFile}, "give Redis a new one"},
		"not valid yet":            {start(early, needsNone...), &TLSConfig{CAFile: early.CAFile}, "set this host's clock"},
		"wrong name":               {start(named, needsNone...), &TLSConfig{CAFile: named.CAFile}, "redis.tls.server_name: write one of redis.example.com"},
		"right name":               {start(named, needsNone...), &TLSConfig{CAFile: named.CAFile, ServerName: "redis.example.com"}, ""},
		"wrong address":            {start(byAddress, needsNone...), &TLSConfig{CAFile: byAddress.CAFile}, "redis.tls.server_name: write one of localhost, 127.0.0.9"},
		"no client certificate":    {start(good), &TLSConfig{CAFile: good.CAFile}, "redis.tls.cert_file and redis.tls.key_file: Redis wants a certificate"},
		"another's certificate": {
			start(good), &TLSConfig{CAFile: good.CAFile, CertFile: other.CertFile, KeyFile: other.KeyFile},
			"redis.tls.cert_file: Redis does not take it",
		},
		"plain to TLS":        {start(good), nil, "redis.tls: the port speaks TLS"},
		"plain to TLS of any": {start(good, needsNone...), nil, "redis.tls: the port speaks TLS"},
		"TLS to a plain port": {redistest.Start(t).Addr(), both(good), "redis.tls: the port does not speak TLS"},
		"a port that is none": {"127.0.0.1:1", both(good), "-"},
		"a wrong password":    {redistest.Start(t, redistest.Password("x")...).Addr(), nil, "wants a password: write the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := DefaultConfig()
			config.Redis.Addrs, config.Redis.TLS = []string{c.addr}, c.tls
			var err error
			var checks []client.Check
			for end := time.Now().Add(time.Minute); ; { // a machine that stands still lets a connection time out
				err = config.CheckRedis(t.Context())
				checks, _, _, _ = config.Examine(t.Context())
				if (err != nil) == (c.says != "" && c.says != "-") && checks[0].OK == (c.says == "") || time.Now().After(end) {
					break
				}
			}
			switch {
			case c.says == "" || c.says == "-":
				if err != nil || checks[0].OK != (c.says == "") {
					t.Errorf("--check says %v, doctor %+v", err, checks[0])
				}
			case !errors.Is(err, strict.ErrConfig) || !strings.Contains(err.Error(), c.says):
				t.Errorf("--check says %v", err)
			case !strings.Contains(checks[0].Error, c.says):
				t.Errorf("doctor says %s", checks[0].Error)
			default:
				h := setup(t, func(d *Config) { d.Redis.Addrs, d.Redis.TLS = []string{c.addr}, c.tls })
				h.start(t)
				eventually(t, "/readyz says it", func() bool { return strings.Contains(h.check(t, "redis"), c.says) })
				status, err := h.client.Status(t.Context())
				if err != nil || status.Ready || !strings.Contains(status.Checks[0].Error, c.says) {
					t.Errorf("status says %+v, %v", status.Checks, err)
				}
				if n := strings.Count(h.log.String(), c.says); n != 1 {
					t.Errorf("its log says it %d times:\n%s", n, h.log)
				}
			}
		})
	}
}

// TestARedisThatStartsLaterIsExplainedToo: at first nobody listens; then the port speaks TLS, by a certificate of another authority.
func TestARedisThatStartsLaterIsExplainedToo(t *testing.T) {
	t.Parallel()
	good, other := redistest.NewTLS(t), redistest.NewTLS(t)
	proxy := redistest.Proxy(t, redistest.Start(t, append(other.Args(), "--tls-auth-clients", "no")...).Addr())
	proxy.Refuse()
	h := setup(t, func(c *Config) { c.Redis.Addrs, c.Redis.TLS = []string{proxy.Addr()}, &TLSConfig{CAFile: good.CAFile} })
	h.start(t)
	eventually(t, "Redis is away", func() bool { return strings.Contains(h.log.String(), "Redis cannot be asked") })
	proxy.Restore()
	eventually(t, "/readyz says what would be right", func() bool {
		return strings.Contains(h.check(t, "redis"), "redis.tls.ca_file: write the authority that signed")
	})
}
