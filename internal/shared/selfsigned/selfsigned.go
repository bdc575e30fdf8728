// Package selfsigned makes self-signed certificates: for tests of TLS, and for servers that only a load of ours asks.
package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An Identity is a certificate with its key, for a server or for a client.
type Identity struct {
	Cert, Key string // files in PEM form
	Pair      tls.Certificate
}

// A Test is what this package needs of a [testing.TB], which a program that serves does not import.
type Test interface {
	Helper()
	Fatal(args ...any)
	TempDir() string
}

// Certificate makes a certificate for names, which are host names and IP addresses. It is valid between two times, which are
// given as times from now: one in the past is negative.
func Certificate(from, until time.Duration, names ...string) (own tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return own, err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			form.IPAddresses = append(form.IPAddresses, ip)
		} else {
			form.DNSNames = append(form.DNSNames, name)
		}
	}
	cert, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return own, err
	}
	leaf, err := x509.ParseCertificate(cert)
	return tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key, Leaf: leaf}, err
}

// Save writes a certificate and its key into a directory, as cert.pem and key.pem.
func Save(dir string, own tls.Certificate) (Identity, error) {
	id := Identity{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), Pair: own}
	secret, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		return id, err
	}
	if err := os.WriteFile(id.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}), 0o600); err != nil {
		return id, err
	}
	return id, os.WriteFile(id.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)
}

// New makes an identity for names, which are host names and IP addresses. It is valid now.
func New(t Test, names ...string) Identity {
	t.Helper()
	return Valid(t, -time.Hour, time.Hour, names...)
}

// Valid makes an identity that is valid between two times, as [Certificate] has them.
func Valid(t Test, from, until time.Duration, names ...string) Identity {
	t.Helper()
	own, err := Certificate(from, until, names...)
	if err != nil {
		t.Fatal(err)
	}
	id, err := Save(t.TempDir(), own)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Server returns the settings of a server with this identity.
func (id Identity) Server() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{id.Pair}}
}

// Pool returns a pool that has this certificate alone.
func (id Identity) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(id.Pair.Leaf)
	return pool
}
