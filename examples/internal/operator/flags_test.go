package operator_test

import (
	"bytes"
	"flag"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

func TestParseFlags(t *testing.T) {
	for _, test := range []struct {
		name        string
		environment string
		args        []string
		want        operator.Flags
	}{
		{name: "defaults", want: operator.Flags{MetricsBindAddress: ":8080", HealthProbeBindAddress: ":8081"}},
		{
			name: "all",
			args: []string{
				"--metrics-bind-address=:1", "--health-probe-bind-address", ":2", "--leader-elect",
				"--leader-election-namespace=leaders", "--watch-namespace=shop", "--child-labels=team=blue,example.org/tier=",
			},
			want: operator.Flags{
				MetricsBindAddress: ":1", HealthProbeBindAddress: ":2",
				LeaderElect: true, LeaderElectionNamespace: "leaders", WatchNamespace: "shop",
				ChildLabels: map[string]string{"team": "blue", "example.org/tier": ""},
			},
		},
		{
			name: "the environment, without the flag", environment: "env",
			want: operator.Flags{MetricsBindAddress: ":8080", HealthProbeBindAddress: ":8081", WatchNamespace: "env"},
		},
		{
			name: "the flag wins", environment: "not a namespace", args: []string{"--watch-namespace=flag"},
			want: operator.Flags{MetricsBindAddress: ":8080", HealthProbeBindAddress: ":8081", WatchNamespace: "flag"},
		},
		{
			name: "an empty flag wins as well", environment: "env", args: []string{"--watch-namespace="},
			want: operator.Flags{MetricsBindAddress: ":8080", HealthProbeBindAddress: ":8081"},
		},
		{
			name: "no labels", args: []string{"--child-labels="},
			want: operator.Flags{MetricsBindAddress: ":8080", HealthProbeBindAddress: ":8081"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("WATCH_NAMESPACE", test.environment)
			got, err := operator.ParseFlags("test-operator", test.args, io.Discard)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(test.want, *got, cmpopts.IgnoreUnexported(operator.Flags{})))
		})
	}
}

func TestParseFlagsRefuses(t *testing.T) {
	for _, test := range []struct {
		name, environment, arg, says string
	}{
		{name: "unknown flag", arg: "--oops", says: "-oops"},
		{name: "argument", arg: "oops", says: `unexpected argument "oops"`},
		{name: "two namespaces", arg: "--watch-namespace=a,b", says: "not the name of one namespace"},
		{name: "two namespaces in the environment", environment: "a,b", says: `"a,b" in the environment's WATCH_NAMESPACE`},
		{name: "label without a value", arg: "--child-labels=a", says: `"a" is not key=value`},
		{name: "trailing comma", arg: "--child-labels=a=b,", says: `"" is not key=value`},
		{name: "bad label key", arg: "--child-labels==b", says: `"" is no label key`},
		{name: "bad label value", arg: "--child-labels=a=b=c", says: `"b=c" is no label value`},
		{name: "label twice", arg: "--child-labels=a=b,a=b", says: `"a" is given twice`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("WATCH_NAMESPACE", test.environment)
			var args []string
			if test.arg != "" {
				args = []string{test.arg}
			}
			flags, err := operator.ParseFlags("test-operator", args, io.Discard)
			require.ErrorContains(t, err, test.says)
			require.Nil(t, flags)
		})
	}
}

func TestTemplatesFlag(t *testing.T) {
	var dir string
	_, err := operator.ParseFlags("test-operator", []string{"--templates", "mine"}, io.Discard, operator.TemplatesFlag(&dir))
	require.NoError(t, err)
	require.Equal(t, "mine", dir)
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	_, err := operator.ParseFlags("test-operator", []string{"--help"}, &out, operator.TemplatesFlag(new(string)))
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, out.String(), "Usage of test-operator:")
	require.Contains(t, out.String(), "-watch-namespace namespace\n    \tthe only namespace to watch")
	require.Contains(t, out.String(), "-templates folder\n")
}
