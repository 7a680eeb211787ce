// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxReplicas bounds redis.wait_replicas: a number above is a slip of the pen.
const maxReplicas = 16

func (r RedisConfig) check(k *checker) {
	known := slices.Contains([]string{Standalone, Sentinel, Cluster}, r.Mode)
	k.Demand(known, "redis.mode", "%q is not known: write standalone, sentinel or cluster", r.Mode)
	k.Demand(len(r.Addrs) > 0, "redis.addrs", "is empty: write host:port or unix:///path")
	for i, addr := range r.Addrs {
		if err := checkAddr(addr, r.Mode); err != nil {
			k.Demand(false, "redis.addrs", "%q %v", withoutSecrets(addr), err)
		}
		k.Demand(slices.Index(r.Addrs, addr) == i, "redis.addrs", "%q stands there twice", withoutSecrets(addr))
	}
	k.Demand(r.Mode != Standalone || len(r.Addrs) <= 1, "redis.addrs",
		"has %d addresses, but redis.mode is standalone: write one, or set redis.mode to sentinel or cluster", len(r.Addrs))
	k.Demand(r.Mode != Sentinel || r.Master != "", "redis.master", "is missing: write the name under which the Sentinels know the master")
	k.Demand(r.Mode == Sentinel || !known || r.Master == "", "redis.master", "is for redis.mode = \"sentinel\" only: take it away")
	k.Demand(r.Mode == Sentinel || !known || r.Sentinel == RedisLogin{}, "redis.sentinel", "is for redis.mode = \"sentinel\" only: take it away")
	k.Demand(r.DB >= 0, "redis.db", "is %d: write 0 or more", r.DB)
	k.Demand(r.Mode != Cluster || r.DB == 0, "redis.db", "is %d, but a cluster has database 0 only: take it away", r.DB)
	k.Demand(prefixForm.MatchString(r.Prefix), "redis.prefix", "must be 1 to 64 of A-Z a-z 0-9 . _ : -")
	k.Demand(r.WaitReplicas >= 0 && r.WaitReplicas <= maxReplicas, "redis.wait_replicas", "is %d: write 0 to %d", r.WaitReplicas, maxReplicas)
	k.Demand(r.WaitElse == Refuse || r.WaitElse == GoOn || r.WaitReplicas == 0 && r.WaitElse == "", "redis.wait_else", "%q is not known: write refuse or go_on", r.WaitElse)
	RedisLogin{r.Username, r.PasswordFile}.check(k, "redis.")
	if r.Mode == Sentinel {
		r.Sentinel.check(k, "redis.sentinel.")
	}
	if r.TLS != nil {
		socket := slices.ContainsFunc(r.Addrs, func(addr string) bool { return strings.HasPrefix(addr, "unix://") })
		k.Demand(!socket, "redis.tls", "does not go with a Unix socket, which never leaves this host: take it away, or write host:port into redis.addrs")
		r.TLS.check(k)
	}
}

func (l RedisLogin) check(k *checker, at string) {
	if l.PasswordFile == "" {
		k.Demand(l.Username == "", at+"password_file", "is missing: %susername is not used without it", at)
		return
	}
	_, err := readSecret(l.PasswordFile)
	k.readable(err, at+"password_file", l.PasswordFile)
}

// withoutSecrets is an address without what stands before an @ or after a ?, as passwords do in URLs.
func withoutSecrets(addr string) string {
	if i := strings.LastIndexByte(addr, '@'); i >= 0 {
		addr = "…" + addr[i:]
	}
	if i := strings.IndexByte(addr, '?'); i >= 0 {
		addr = addr[:i] + "?…"
	}
	return addr
}

// checkAddr says what is wrong with an address, to follow it in a sentence.
func checkAddr(addr, mode string) error {
	if addr != withoutSecrets(addr) {
		return errors.New("has more than an address in it: write host:port or unix:///path, the user as redis.username, and the password into a file, that as redis.password_file")
	}
	if path, ok := strings.CutPrefix(addr, "unix://"); ok {
		switch {
		case mode != Standalone:
			return fmt.Errorf("is a Unix socket, which redis.mode = %q cannot use: write host:port", mode)
		case !filepath.IsAbs(path) || len(path) > maxSocketPath:
			return fmt.Errorf("must be unix:// and an absolute path of at most %d bytes, as in unix:///run/redis/redis.sock", maxSocketPath)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" || strings.Contains(addr, "/") {
		return errors.New("is not an address: write host:port, such as 127.0.0.1:6379 or [::1]:6379, or unix:///path")
	}
	return nil
}

func (t TLSConfig) check(k *checker) {
	k.Demand((t.CertFile == "") == (t.KeyFile == ""), "redis.tls.cert_file", "cert_file and key_file go together: write both, or neither")
	if t.CAFile != "" {
		_, err := t.authorities()
		k.readable(err, "redis.tls.ca_file", t.CAFile)
	}
	if t.CertFile != "" && t.KeyFile != "" {
		_, err := t.certificate()
		k.readable(err, "redis.tls.cert_file", t.CertFile, t.KeyFile)
	}
}

// authorities reads the file of certificates that are trusted.
func (t TLSConfig) authorities() (*x509.CertPool, error) {
	path, err := credentialPath(t.CAFile)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", path)
	}
	return pool, nil
}

// certificate reads the certificate with which this daemon shows who it is.
func (t TLSConfig) certificate() (tls.Certificate, error) {
	cert, err := credentialPath(t.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := credentialPath(t.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return pair, fmt.Errorf("cannot read the certificate and its key: %w", err)
	}
	return pair, nil
}
