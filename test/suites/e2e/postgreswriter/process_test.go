package postgreswriter_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/longform"
)

const lease = "postgreswriter-operator.demo.yash.com"

// TestInstalled checks the objects of config/default: the server accepted them and created the
// operator's pod.
func TestInstalled(t *testing.T) {
	o := installed(t)
	require.Contains(t, kubectl(t, "apply", "--dry-run=server", "-f", o.Dir+"/config/manager/postgreswriter-psql.yaml"), "created")
	tests.CheckInstalled(t)
}

// TestProcess has one operator start, lead and end, and other operators take over.
func TestProcess(t *testing.T) {
	longform.Only(t)
	d := newDatabase(t, server, "students")
	o := installed(t)
	leading := []string{"--leader-elect", "--leader-election-namespace", o.Namespace}
	f := newFixtureWithOwnOperator(t, d, leading...)
	require.NotEmpty(t, tests.LeaseHolder(t, lease))
	for _, path := range []string{"/healthz", "/readyz"} {
		code, err := f.operator.Probe(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, path)
	}
	f.create(t)
	f.settle(t)
	gone := f.withName("gone")
	gone.create(t)
	gone.settle(t)

	require.NoError(t, f.operator.Stop())
	require.Empty(t, tests.LeaseHolder(t, lease), "the lease is free for the next")
	eventually(t, func(context.Context) error {
		return expect(d.sessions(t) == 0, "it has left %d connections behind", d.sessions(t))
	})

	leading = append(leading, "--watch-namespace", f.namespace)
	mark, written := shared.Mark(), d.written(t)
	f.operator = start(t, d, leading...)
	f.settle(t)
	require.Equal(t, map[string]int{"watch postgreswriters": 1}, tests.Requests(t, mark, f.namespace),
		"what is in place costs no request after a restart either")
	require.Equal(t, written, d.written(t), "nor a write")
	require.NoError(t, f.operator.Stop())

	// Changes made meanwhile are handled.
	d.exec(t, "delete from students where id = $1", f.key())
	gone.delete(t)
	f.operator = start(t, d, leading...)
	f.waitUntilReady(t)
	gone.operator = f.operator
	gone.waitUntilGone(t)
	require.Equal(t, []string{f.key()}, d.keys(t, "students"))
}

func TestWatchNamespace(t *testing.T) {
	longform.Only(t)
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d)
	outside := newEmptyFixture(t, d, f.operator)
	outside.create(t)
	f.create(t)
	f.settle(t)
	require.Empty(t, outside.writer(t).Finalizers)
	require.Equal(t, []string{f.key()}, d.keys(t, "students"))
}

// TestClusterName has rows that differ from the operator's own only by the name of their cluster.
func TestClusterName(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d, "--cluster-name=blue")
	f.cluster = "blue"
	plain := f
	plain.cluster = ""
	d.insert(t, "students", plain.key(), row{Name: "of no cluster"})
	d.insert(t, "students", "green/"+plain.key(), row{Name: "of another"})
	f.create(t)
	f.settle(t)
	require.Equal(t, alex, d.rows(t, "students")["blue/"+plain.key()])
	f.delete(t)
	f.waitUntilGone(t)
	require.Equal(t, []string{"green/" + plain.key(), plain.key()}, d.keys(t, "students"))
}

// TestBadStarts has the operator refuse wrong settings, and report the mistake.
func TestBadStarts(t *testing.T) {
	good := []string{"PSQL_HOST=127.0.0.1", "PSQL_PORT=5432", "PSQL_DBNAME=school", "PSQL_USER=writer", "PSQL_PASSWORD=" + password, "PSQL_SSLMODE="}
	for name, bad := range map[string]struct {
		env, args []string
		says      []string
	}{
		"no host":             {env: []string{"PSQL_HOST="}, says: []string{"the environment's PSQL_HOST is missing"}},
		"no port":             {env: []string{"PSQL_PORT="}, says: []string{"the environment's PSQL_PORT is missing"}},
		"no database":         {env: []string{"PSQL_DBNAME="}, says: []string{"the environment's PSQL_DBNAME is missing"}},
		"no user":             {env: []string{"PSQL_USER="}, says: []string{"the environment's PSQL_USER is missing"}},
		"no password":         {env: []string{"PSQL_PASSWORD="}, says: []string{"the environment's PSQL_PASSWORD is missing"}},
		"several at once":     {env: []string{"PSQL_HOST=", "PSQL_PORT=x"}, says: []string{"PSQL_HOST is missing", `PSQL_PORT is "x"`}},
		"a port with a name":  {env: []string{"PSQL_PORT=postgresql"}, says: []string{`PSQL_PORT is "postgresql": not a port`}},
		"port 0":              {env: []string{"PSQL_PORT=0"}, says: []string{`PSQL_PORT is "0"`}},
		"port 65536":          {env: []string{"PSQL_PORT=65536"}, says: []string{`PSQL_PORT is "65536"`}},
		"port -1":             {env: []string{"PSQL_PORT=-1"}, says: []string{`PSQL_PORT is "-1"`}},
		"two ports":           {env: []string{"PSQL_PORT=5432,5433"}, says: []string{`PSQL_PORT is "5432,5433"`}},
		"an unknown SSL mode": {env: []string{"PSQL_SSLMODE=maybe"}, says: []string{`PSQL_SSLMODE is "maybe": not one of prefer, disable`}},
		"an unknown flag":     {args: []string{"--oops"}, says: []string{"flag provided but not defined: -oops"}},
		"two locks":           {args: []string{"--global-lock", "--leader-elect"}, says: []string{"--global-lock takes the place of --leader-elect"}},
		"labels":              {args: []string{"--child-labels=a=b"}, says: []string{"--child-labels"}},
		"no tables":           {args: []string{"--tables="}, says: []string{"-tables", "a table without a name"}},
		"a nameless table":    {args: []string{"--tables=a,,b"}, says: []string{"-tables", "a table without a name"}},
		"a table twice":       {args: []string{"--tables=a,b,a"}, says: []string{"-tables", `"a" is given twice`}},
		"a long table":        {args: []string{"--tables=" + strings.Repeat("🐘", 16)}, says: []string{"-tables", "64 bytes"}},
		"the lock's table":    {args: []string{"--tables=postgreswriter_lease"}, says: []string{"-tables", "holds the global lock"}},
		"a cluster of two":    {args: []string{"--cluster-name=a/b"}, says: []string{"-cluster-name"}},
		"a loud cluster":      {args: []string{"--cluster-name=A"}, says: []string{"-cluster-name"}},
		"a long cluster":      {args: []string{"--cluster-name=" + strings.Repeat("a", 64)}, says: []string{"-cluster-name"}},
		"no interval":         {args: []string{"--check-interval=0"}, says: []string{"--check-interval is 0s"}},
		"a short interval":    {args: []string{"--check-interval=999ms"}, says: []string{"--check-interval is 999ms"}},
		"a past interval":     {args: []string{"--check-interval=-1m"}, says: []string{"--check-interval is -1m"}},
		"a number":            {args: []string{"--check-interval=60"}, says: []string{"-check-interval"}},
		"nowhere to elect":    {args: []string{"--leader-elect"}, says: []string{"leader-election-namespace"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := tests.RunToEnd(t, append(good, bad.env...), bad.args...)
			require.Equal(t, "exit status 1", process.Exit())
			for _, says := range bad.says {
				require.Contains(t, process.Log(), says)
			}
			requireNoSecret(t, "the log", process.Log())
		})
	}
}

func TestHelp(t *testing.T) {
	process := tests.RunToEnd(t, []string{"PSQL_HOST="}, "--help")
	require.Equal(t, "exit status 0", process.Exit())
	for _, flag := range []string{
		"metrics-bind-address", "metrics-secure", "health-probe-bind-address", "leader-elect", "leader-election-namespace", "watch-namespace", "child-labels",
		"zap-log-level", "tables", "create-tables", "cluster-name", "global-lock", "check-interval", "workers", "sweep", "adopt-rows",
	} {
		require.Regexp(t, `(?m)^  -`+flag+`\b.*\n    \t\S+ `, process.Log(), flag)
	}
}

// TestStatusOfOthers: somebody may write the status by hand.
func TestStatusOfOthers(t *testing.T) {
	t.Parallel()
	longform.Only(t)
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d, "--tables=students", "--check-interval=2s")
	f.create(t)
	f.settle(t)
	tests.CheckStatus(t, f.named(), func(context.Context) error { return f.checkState(t) })
}
