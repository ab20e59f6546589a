// Package pki issues the certificates and keys of a cluster, or of a database.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity is longer than any cluster lives.
const validity = 365 * 24 * time.Hour

// A Pair is a certificate with its private key, both in PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Authority signs certificates.
type Authority struct {
	// Pair is the authority's own. Clients trust its certificate.
	Pair

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority with a fresh key.
func NewAuthority() (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "trueup-test-ca"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	pair, err := sign(template, key, template, key)
	if err != nil {
		return nil, err
	}
	return &Authority{Pair: pair, certificate: template, key: key}, nil
}

// Server issues a certificate for a server that is reached at the given names
// and addresses.
func (a *Authority) Server(names []string, addresses ...net.IP) (Pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "trueup-test-server"},
		DNSNames:    names,
		IPAddresses: addresses,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client issues a certificate for a client of that name.
func (a *Authority) Client(name string) (Pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("cannot make a key: %w", err)
	}
	return sign(template, key, a.certificate, a.key)
}

// sign completes the template, a certificate for key, and signs it.
func sign(template *x509.Certificate, key *ecdsa.PrivateKey, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (Pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("cannot make a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Minute) // clocks are seldom exact
	template.NotAfter = time.Now().Add(validity)
	certificate, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return Pair{}, fmt.Errorf("cannot sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("cannot encode the key of %s: %w", template.Subject.CommonName, err)
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey}),
	}, nil
}

// TLS returns the pair for Go's servers and clients.
func (p Pair) TLS() (tls.Certificate, error) {
	return tls.X509KeyPair(p.Certificate, p.Key)
}
