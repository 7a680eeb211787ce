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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TLS is a certificate authority made for one test, with a certificate for the server (127.0.0.1 and localhost) and one for
// its clients.
type TLS struct {
	CAFile   string
	CertFile string // of the client
	KeyFile  string // of the client
	Pool     *x509.CertPool

	client                    tls.Certificate
	serverCert, serverKeyFile string
}

// NewTLS makes the certificates in the test's folder.
func NewTLS(t testing.TB) *TLS {
	t.Helper()
	dir := t.TempDir()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Picket test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey := newKey(t)
	caFile, _ := issue(t, dir, "ca", ca, caKey, ca, caKey)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, // a Cluster node is both
	}
	serverCert, serverKey := issue(t, dir, "server", server, newKey(t), ca, caKey)
	client := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "picket"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	clientCert, clientKey := issue(t, dir, "client", client, newKey(t), ca, caKey)
	pair, err := tls.LoadX509KeyPair(clientCert, clientKey)
	check(t, err, "cannot make certificates")
	caPEM, err := os.ReadFile(caFile)
	check(t, err, "cannot make certificates")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(caPEM)
	return &TLS{
		CAFile: caFile, CertFile: clientCert, KeyFile: clientKey, Pool: pool,
		client: pair, serverCert: serverCert, serverKeyFile: serverKey,
	}
}

// Args are arguments for Start: the TCP port then speaks TLS only, and demands a client's certificate.
func (c *TLS) Args() []string {
	return []string{
		"--tls-cert-file", c.serverCert, "--tls-key-file", c.serverKeyFile, "--tls-ca-cert-file", c.CAFile,
		"--tls-auth-clients", "yes",
	}
}

// Config is a client's: it trusts the authority alone and shows the client's certificate.
func (c *TLS) Config() *tls.Config {
	return &tls.Config{RootCAs: c.Pool, Certificates: []tls.Certificate{c.client}, MinVersion: tls.VersionTLS12}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err, "cannot make certificates")
	return key
}

// issue signs a certificate and writes it and its key beside each other.
func issue(t testing.TB, dir, name string, cert *x509.Certificate, key *ecdsa.PrivateKey, parent *x509.Certificate,
	parentKey *ecdsa.PrivateKey,
) (certFile, keyFile string) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), parentKey)
	check(t, err, "cannot make certificates")
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err, "cannot make certificates")
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der},
		keyFile:  {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		check(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600), "cannot make certificates")
	}
	return certFile, keyFile
}

// Password are arguments for Start that make the default user need a password.
func Password(password string) []string { return []string{"--requirepass", password} }

// User are arguments for Start that switch the default user off and make another one that may do everything.
func User(name, password string) []string {
	return []string{"--user", "default", "off", "--user", name, "on", ">" + password, "~*", "&*", "+@all"}
}

// credentials finds in a server's arguments how to log in.
func credentials(args []string) (user, password string) {
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--requirepass":
			password = args[i+1]
		case "--user":
			if i+3 < len(args) && args[i+2] == "on" {
				user, password = args[i+1], strings.TrimPrefix(args[i+3], ">")
			}
		}
	}
	return user, password
}
