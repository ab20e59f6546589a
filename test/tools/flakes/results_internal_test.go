package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const output = `building etcd
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB/sub","Output":"too late\n"}
{"Action":"fail","Package":"p","Test":"TestB/sub"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- FAIL: TestB\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"output","Package":"q","Output":"cannot start\n"}
{"Action":"fail","Package":"q"}
{"Action":"build-output","ImportPath":"r [r.test]","Output":"r.go:1: no\n"}
{"Action":"build-fail","ImportPath":"r [r.test]"}
make: *** [Makefile:1: test] Error 1
`

func TestRead(t *testing.T) {
	found, err := read(strings.NewReader(output))
	require.NoError(t, err)
	require.Equal(t, results{passed: 1, failed: map[test]string{
		{"p", "TestB/sub"}:  "too late\n",
		{pkg: "q"}:          "cannot start\n",
		{pkg: "r [r.test]"}: "r.go:1: no\n",
	}}, found)
}

func TestTally(t *testing.T) {
	var all tally
	require.True(t, all.empty())
	var out strings.Builder
	all.print(&out)
	require.Equal(t, "No test failed.\n", out.String())

	failed := results{failed: map[test]string{{"p", "TestB"}: "one\ntwo\n"}}
	all.add(1, failed)
	all.add(2, results{})
	all.add(3, failed)
	out.Reset()
	all.print(&out)
	require.False(t, all.empty())
	require.Equal(t, "1 failed at least once:\n\np TestB: in run 1, 3\n    one\n    two\n", out.String())
}

func TestModule(t *testing.T) {
	for pkg, want := range map[string][2]string{
		"./test/suites/status":   {"../../../test", "./suites/status"},
		"test/suites/ensure/...": {"../../../test", "./suites/ensure/..."},
		"./ensure/...":           {"../../..", "./ensure/..."},
		"...":                    {"../../..", "./..."},
		"./examples/application": {"../../../examples", "./application"},
	} {
		dir, pattern, err := module("../../..", pkg)
		require.NoError(t, err, pkg)
		require.Equal(t, want, [2]string{dir, pattern}, pkg)
	}
	_, _, err := module("../../..", "./no/such")
	require.ErrorContains(t, err, "cannot find the package")
}
