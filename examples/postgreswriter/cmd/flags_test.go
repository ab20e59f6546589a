package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

func parse(args ...string) (*flags, error) {
	own := &flags{}
	shared, err := operator.ParseFlags("postgreswriter-operator", args, io.Discard, own.addTo)
	if err != nil {
		return nil, err
	}
	return own, own.check(shared)
}

func TestFlags(t *testing.T) {
	defaults, err := parse()
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(&flags{tables: []string{"students"}, checkInterval: time.Minute, workers: 4}, defaults, cmp.AllowUnexported(flags{})))

	given, err := parse("--tables=students,odd \"name\"", "--create-tables", "--cluster-name=east", "--global-lock",
		"--check-interval=5s", "--sweep", "--workers=16", "--adopt-rows=shop,east/default/alex")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(&flags{
		tables: []string{"students", `odd "name"`}, createTables: true, clusterName: "east", globalLock: true,
		checkInterval: 5 * time.Second, sweep: true, workers: 16, adoptRows: []string{"shop", "east/default/alex"},
	}, given, cmp.AllowUnexported(flags{})))
}

func TestBadFlags(t *testing.T) {
	for _, test := range []struct{ arg, says string }{
		{arg: "--tables=", says: "a table without a name"},
		{arg: "--tables=a,,b", says: "a table without a name"},
		{arg: "--tables=a,b,a", says: `table "a" is given twice`},
		{arg: "--tables=" + strings.Repeat("é", 32), says: "has 64 bytes"},
		{arg: "--tables=a\x00b", says: "has a NUL"},
		{arg: "--tables=postgreswriter_lease", says: "holds the global lock"},
		{arg: "--cluster-name=a/b", says: "not the name of a cluster"},
		{arg: "--check-interval=10ms", says: "give a second at least"},
		{arg: "--workers=0", says: "--workers is 0: give 1 to 100"},
		{arg: "--workers=101", says: "--workers is 101: give 1 to 100"},
		{arg: "--adopt-rows=true", says: `"true" is neither a namespace nor a key of this cluster: give a list such as shop,default/sample-student`},
		{arg: "--adopt-rows=shop,", says: `"" is neither a namespace nor a key`},
		{arg: "--adopt-rows=Shop", says: `"Shop" is neither`},
		{arg: "--adopt-rows=east/default/alex", says: `"east/default/alex" is neither`},
		{arg: "--child-labels=a=b", says: "PostgresWriters have no children"},
	} {
		_, err := parse(test.arg)
		require.ErrorContains(t, err, test.says, test.arg)
	}
	_, err := parse("--global-lock", "--leader-elect")
	require.EqualError(t, err, "--global-lock takes the place of --leader-elect: give one of them")
}
