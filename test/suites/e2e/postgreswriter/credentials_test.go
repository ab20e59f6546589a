package postgreswriter_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/pki"
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
	d.disconnect(t)
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
	p.tls = serverTLS(t, authority, "127.0.0.1")
	p.tls.ClientAuth, p.tls.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	require.True(t, p.tls.ClientCAs.AppendCertsFromPEM(authority.Certificate))
	folder := t.TempDir()
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	client, err := authority.Client("operator")
	require.NoError(t, err)
	for file, content := range map[string][]byte{"ca.crt": authority.Certificate, "tls.crt": client.Certificate, "tls.key": client.Key} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), content, 0o600))
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
		p.tls = serverTLS(t, authority, name)
		return append(p.env(d), "PSQL_SSLMODE=verify-full")
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(ca, authority.Certificate, 0o600))
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
			d.withSchema(t, "school", "students")
			f := newFixtureWithOwnOperator(t, d)
			f.create(t)
			require.Equal(t, `table "students" is in the schema "school", which is not in the search path of the operator's user`,
				f.waitForReason(t, "TableMissing").Message)
			require.NoError(t, f.operator.Stop())

			if test.isOfRole {
				d.setSearchPath(t, "school")
			}
			f.operator = startAllowingErrors(t, append(d.env(), test.env...), "--watch-namespace", f.namespace)
			eventually(t, func(context.Context) error {
				rows := query[string](t, d, "select id from school.students")
				return expect(len(rows) == 1 && condition(f.writer(t)).Reason == "Written", "%v", rows)
			})
		})
	}
}

// TestEncoding has a user whose clients speak another encoding.
func TestEncoding(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	d.exec(t, "alter role "+identifier(d.user)+" set client_encoding = 'LATIN1'")
	f := newFixtureWithOwnOperator(t, d)
	f.create(t, func(spec *v1.PostgresWriterSpec) { spec.Name = "Zoë" })
	f.waitUntilReady(t)
}

// TestConnections reads a table that refuses: that does not cost the connection.
func TestConnections(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	d.exec(t, "revoke select on teachers from "+identifier(d.user))
	f := newFixtureWithOwnOperator(t, d, "--tables=students,teachers")
	f.create(t)
	f.waitForReasonWritten(t)
	connections := func() []int {
		return query[int](t, d, "select pid from pg_stat_activity where application_name = $1 and datname = current_database()", application)
	}
	before := connections()
	for range 10 {
		f.reconcile(t)
	}
	require.NotEmpty(t, before)
	require.Subset(t, connections(), before)
}

// silent returns a proxy that accepts connections and never answers.
func silent(t *testing.T) *proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	return &proxy{listener: listener}
}

func newAuthority(t *testing.T) *pki.Authority {
	t.Helper()
	authority, err := pki.NewAuthority()
	require.NoError(t, err)
	return authority
}

// serverTLS returns the certificate of a server with a name or an address.
func serverTLS(t *testing.T, authority *pki.Authority, name string) *tls.Config {
	t.Helper()
	names, addresses := []string{name}, []net.IP(nil)
	if ip := net.ParseIP(name); ip != nil {
		names, addresses = nil, []net.IP{ip}
	}
	pair, err := authority.Server(names, addresses...)
	require.NoError(t, err)
	certificate, err := pair.TLS()
	require.NoError(t, err)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
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
