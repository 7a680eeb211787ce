// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// errConnection: Redis is there, and nobody gets in with this configuration.
var errConnection = errors.New("the connection to Redis is refused")

// explain looks why an address of [redis] cannot be used, and says which key would be right. It is nil, or an errConnection. It is for when
// a call has failed: it connects for itself.
func (r RedisConfig) explain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	for _, addr := range r.Addrs {
		if strings.HasPrefix(addr, "unix://") {
			continue
		}
		why := r.tryPlain
		if r.TLS != nil {
			why = r.tryTLS
		}
		if says := why(ctx, addr); says != "" {
			return fmt.Errorf("%w: %s", errConnection, says)
		}
	}
	return nil
}

// explained is the error of a call, or why the connection is refused, if it is.
func (r RedisConfig) explained(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(r.explain(ctx), err)
}

// tryPlain says what is wrong with a connection without TLS.
func (r RedisConfig) tryPlain(ctx context.Context, addr string) string {
	answer, err := ping(ctx, addr, nil)
	switch {
	case r.PasswordFile == "" && strings.HasPrefix(answer, "-NOAUTH"):
		return "redis.password_file: " + addr + " wants a password: write the file that holds it"
	case err == nil || isTimeout(err):
		return ""
	}
	if _, err := ping(ctx, addr, &tls.Config{InsecureSkipVerify: true}); err == nil || isAlert(err) { // it is only asked whether it speaks TLS
		return "redis.tls: the port speaks TLS (" + addr + "): write the table, with ca_file"
	}
	return ""
}

// tryTLS says what is wrong with a connection that is configured for TLS.
func (r RedisConfig) tryTLS(ctx context.Context, addr string) string {
	config, err := r.TLS.config()
	if err != nil {
		return "" // the configuration's check says it
	}
	_, err = ping(ctx, addr, config)
	if err == nil {
		return ""
	}
	if unknown, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return fmt.Sprintf("redis.tls.ca_file: write the authority that signed the certificate of %s: %v", addr, unknown)
	}
	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is {
		return fmt.Sprintf("the certificate of %s is not valid: give Redis a new one, or set this host's clock: %v", addr, invalid)
	}
	if other, is := errors.AsType[x509.HostnameError](err); is {
		return fmt.Sprintf("redis.tls.server_name: write one of %s, for which the certificate of %s is", strings.Join(namesOf(other.Certificate), ", "), addr)
	}
	switch {
	case isAlert(err) && r.TLS.CertFile == "":
		return fmt.Sprintf("redis.tls.cert_file and redis.tls.key_file: Redis wants a certificate (%s): %v", addr, err)
	case isAlert(err):
		return fmt.Sprintf("redis.tls.cert_file: Redis does not take it (%s): %v", addr, err)
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout) // a plain Redis waits for more, as long as it may
	defer cancel()
	if _, err := ping(own, addr, nil); err == nil {
		return "redis.tls: the port does not speak TLS (" + addr + "): take the table away, or write Redis' tls-port into redis.addrs"
	}
	return ""
}

// namesOf are what a certificate is for.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// ping is Redis' first line to a PING, without a login; over TLS when secure is not nil.
func ping(ctx context.Context, addr string, secure *tls.Config) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	until, _ := ctx.Deadline()
	_ = conn.SetDeadline(until)
	if secure != nil {
		secure = secure.Clone()
		host, _, _ := net.SplitHostPort(addr)
		secure.ServerName = cmp.Or(secure.ServerName, host)
		over := tls.Client(conn, secure)
		if err := over.HandshakeContext(ctx); err != nil {
			return "", err
		}
		conn = over
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil && !errors.Is(err, net.ErrClosed) {
		_ = conn.SetReadDeadline(time.Now().Add(redisTimeout)) // an alert may be there that says more
	}
	line, err := bufio.NewReader(io.LimitReader(conn, 1<<10)).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "-") {
		err = errors.New("that is not Redis' protocol")
	}
	return line, err
}

// isAlert tells the end of a connection by the other side's TLS.
func isAlert(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "remote error"
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}
