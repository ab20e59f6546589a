package postgreswriter_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRotatedPassword changes the password of the operator's user, and then the file with the password. The operator
// connects again without a restart.
func TestRotatedPassword(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	folder := t.TempDir()
	write := func(password string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "password"), []byte(password), 0o600))
	}
	write(password)
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = startAllowingErrors(t, append(d.env(), "PSQL_PASSWORD=unused", "PSQL_CREDENTIALS="+folder), "--watch-namespace", f.namespace)
	f.create(t)
	f.waitUntilReady(t)

	const rotated = password + "-rotated"
	d.exec(t, "alter role "+identifier(d.user)+" password "+literal(rotated))
	write(rotated)
	d.exec(t, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()", application)
	f.change(t, `{"age":24}`)
	f.waitUntilReady(t)
	requireNoSecret(t, "the log", f.operator.Log())
}

// TestCertificates has a database with TLS that accepts only clients with a certificate.
func TestCertificates(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	authority := newAuthority(t)
	p := newProxy(t, d, 0, nil)
	p.tls = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.pair(t, "127.0.0.1")},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.pool(),
	}
	folder := t.TempDir()
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	client := authority.pair(t, "operator")
	key, err := x509.MarshalPKCS8PrivateKey(client.PrivateKey)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{
		"ca.crt":  {Type: "CERTIFICATE", Bytes: authority.certificate.Raw},
		"tls.crt": {Type: "CERTIFICATE", Bytes: client.Certificate[0]},
		"tls.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600))
	}
	f.operator = startAllowingErrors(t, append(p.env(d), "PSQL_SSLMODE=verify-full", "PSQL_CREDENTIALS="+folder), "--watch-namespace", f.namespace)
	f.create(t)
	f.waitUntilReady(t)
}

// TestUnreachable has each way not to reach a database, and each has its own message.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	authority := newAuthority(t)
	withTLS := func(name string) []string {
		p := newProxy(t, d, 0, nil)
		p.tls = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.pair(t, name)}}
		return append(p.env(d), "PSQL_SSLMODE=verify-full")
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.certificate.Raw}), 0o600))
	for name, test := range map[string]struct {
		env  []string
		says string
	}{
		"no such name":   {append(d.env(), "PSQL_HOST=nowhere.invalid"), "the name of PSQL_HOST does not resolve"},
		"refused":        {append(d.env(), "PSQL_PORT=1"), "the connection is refused"},
		"no answer":      {append(silent(t).env(d), "PSQL_SSLMODE=disable"), "no answer"},
		"no TLS":         {append(d.env(), "PSQL_SSLMODE=verify-full"), "it offers no TLS, which PSQL_SSLMODE requires"},
		"not trusted":    {withTLS("127.0.0.1"), "its certificate is not trusted"},
		"not trusted CA": {append(withTLS("127.0.0.1"), "PSQL_SSLMODE=verify-ca"), "its certificate is not trusted"},
		"another name":   {append(withTLS("db.example.com"), "PGSSLROOTCERT="+ca), "its certificate is for another name than PSQL_HOST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
			f.operator = startAllowingErrors(t, test.env, "--watch-namespace", f.namespace)
			f.create(t)
			require.Equal(t, cannotReach+": "+test.says, f.waitForReason(t, "DatabaseUnavailable").Message)
		})
	}
}

// TestSearchPath has the tables in a schema of their own, which the search path of the role or of PGOPTIONS has.
func TestSearchPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		isOfRole bool
		env      []string
	}{
		"of the role":  {isOfRole: true},
		"of PGOPTIONS": {env: []string{"PGOPTIONS=-c search_path=school"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server)
			user := identifier(d.user)
			d.exec(t, "create schema school; create table school.students (id text primary key, name text, age integer, country text); "+
				"grant usage on schema school to "+user+"; grant select, insert, update, delete on school.students to "+user)
			f := newFixtureWithOwnOperator(t, d)
			f.create(t)
			require.Equal(t, `table "students" is in the schema "school", which is not in the search path of the operator's user`,
				f.waitForReason(t, "TableMissing").Message)
			require.NoError(t, f.operator.Stop())

			if test.isOfRole {
				d.exec(t, "alter role "+user+" set search_path = school")
			}
			f.operator = startAllowingErrors(t, append(d.env(), test.env...), "--watch-namespace", f.namespace)
			eventually(t, func(context.Context) error {
				rows := query[string](t, d, "select id from school.students")
				return expect(len(rows) == 1 && condition(f.writer(t)).Reason == "Written", "%v", rows)
			})
		})
	}
}

// silent returns a proxy that accepts connections and never answers.
func silent(t *testing.T) *proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	return &proxy{listener: listener}
}

// An authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return authority{certificate, key}
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// pair returns a certificate for a name or an address.
func (a authority) pair(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// startTLS answers the first message of a client, which asks for TLS, and returns the encrypted connection.
func startTLS(client net.Conn, config *tls.Config) (net.Conn, error) {
	if _, err := io.ReadFull(client, make([]byte, 8)); err != nil {
		return client, err
	}
	if _, err := client.Write([]byte("S")); err != nil {
		return client, err
	}
	return tls.Server(client, config), nil
}
