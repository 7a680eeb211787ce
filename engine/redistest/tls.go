// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TLS is a certificate made for one test, which signs itself: it is the authority, the server's (127.0.0.1 and localhost) and its
// clients'.
type TLS struct {
	CAFile   string
	CertFile string // of the client
	KeyFile  string // of the client
	Pool     *x509.CertPool

	pair tls.Certificate
}

// NewTLS makes the certificate in the test's folder, after each change was made to what is to be signed.
func NewTLS(t testing.TB, change ...func(*x509.Certificate)) *TLS {
	t.Helper()
	dir := t.TempDir()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, do := range change {
		do(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err, "cannot make a key")
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(t, err, "cannot make a certificate")
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err, "cannot make a key")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	check(t, errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, secret, 0o600)), "cannot write a certificate")
	pair, err := tls.X509KeyPair(cert, secret)
	check(t, err, "cannot use a certificate")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return &TLS{CAFile: certFile, CertFile: certFile, KeyFile: keyFile, Pool: pool, pair: pair}
}

// Args are arguments for Start: the TCP port then speaks TLS only, and demands a client's certificate.
func (c *TLS) Args() []string {
	return []string{
		"--tls-cert-file", c.CertFile, "--tls-key-file", c.KeyFile, "--tls-ca-cert-file", c.CAFile,
		"--tls-auth-clients", "yes",
	}
}

// Inside are Args with which servers speak TLS among themselves, too.
func (c *TLS) Inside() []string {
	return append(c.Args(), "--tls-replication", "yes", "--tls-cluster", "yes")
}

// secure are those of a server's arguments that are about TLS, each with its value.
func secure(args []string) (tls []string) {
	for i := 0; i+1 < len(args); i++ {
		if strings.HasPrefix(args[i], "--tls-") {
			tls = append(tls, args[i], args[i+1])
		}
	}
	return tls
}

// Config is a client's: it trusts the authority alone and shows the client's certificate.
func (c *TLS) Config() *tls.Config {
	return &tls.Config{RootCAs: c.Pool, Certificates: []tls.Certificate{c.pair}, MinVersion: tls.VersionTLS12}
}

// Password are arguments for Start that make the default user need a password.
func Password(password string) []string { return []string{"--requirepass", password} }

// User are arguments for Start that switch the default user off and make another one that may do everything.
func User(name, password string) []string {
	return []string{"--user", "default", "off", "--user", name, "on", ">" + password, "~*", "&*", "+@all"}
}

// credentials finds in a server's arguments how to log in as who may do everything.
func credentials(args []string) (user, password string) {
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--requirepass":
			password = args[i+1]
		case "--user":
			if i+6 < len(args) && args[i+2] == "on" && args[i+6] == "+@all" {
				user, password = args[i+1], strings.TrimPrefix(args[i+3], ">")
			}
		}
	}
	return user, password
}
