package operator_test

import (
	"bytes"
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

// parsed has the options that flags set.
type parsed struct {
	Metrics, Probes         string
	IsSecure, IsLed         bool
	LeaseNamespace, Watched string
	ChildLabels             map[string]string
}

func TestParseFlags(t *testing.T) {
	for _, test := range []struct {
		name        string
		environment string
		args        []string
		want        parsed
	}{
		{name: "defaults", want: parsed{Metrics: ":8080", Probes: ":8081"}},
		{
			name: "all",
			args: []string{
				"--metrics-bind-address=:1", "--metrics-secure", "--health-probe-bind-address", ":2", "--leader-elect",
				"--leader-election-namespace=leaders", "--watch-namespace=shop", "--child-labels=team=blue,example.org/tier=",
			},
			want: parsed{
				Metrics: ":1", IsSecure: true, Probes: ":2", IsLed: true, LeaseNamespace: "leaders", Watched: "shop",
				ChildLabels: map[string]string{"team": "blue", "example.org/tier": ""},
			},
		},
		{name: "the environment, without the flag", environment: "env", want: parsed{Metrics: ":8080", Probes: ":8081", Watched: "env"}},
		{
			name: "the flag takes precedence", environment: "not a namespace", args: []string{"--watch-namespace=flag"},
			want: parsed{Metrics: ":8080", Probes: ":8081", Watched: "flag"},
		},
		{
			name: "an empty flag takes precedence, too", environment: "env", args: []string{"--watch-namespace="},
			want: parsed{Metrics: ":8080", Probes: ":8081"},
		},
		{name: "no labels", args: []string{"--child-labels="}, want: parsed{Metrics: ":8080", Probes: ":8081"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("WATCH_NAMESPACE", test.environment)
			got, err := operator.ParseFlags("test-operator", test.args, io.Discard)
			require.NoError(t, err)
			require.Equal(t, test.want, parsed{
				got.Metrics.BindAddress, got.HealthProbeBindAddress, got.Metrics.SecureServing, got.LeaderElection, got.LeaderElectionNamespace,
				got.WatchNamespace, got.ChildLabels,
			})
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
		{name: "two namespaces in the environment", environment: "a,b", says: `WATCH_NAMESPACE is "a,b"`},
		{name: "label without a value", arg: "--child-labels=a", says: `--child-labels is "a", which is not key=value`},
		{name: "trailing comma", arg: "--child-labels=a=b,", says: `--child-labels is "a=b,", which is not key=value`},
		{name: "bad label key", arg: "--child-labels==b", says: "name part must be non-empty"},
		{name: "bad label value", arg: "--child-labels=a=b c", says: `Invalid value: "b c"`},
		{name: "label twice", arg: "--child-labels=a=b,a=b", says: "names a label twice"},
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

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	_, err := operator.ParseFlags("test-operator", []string{"--help"}, &out, new(operator.Templates).AddFlags)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, out.String(), "Usage of test-operator:")
	require.Contains(t, out.String(), "-watch-namespace namespace\n    \tthe only namespace to watch")
	require.Contains(t, out.String(), "-templates folder\n")
	require.Contains(t, out.String(), "-templates-optional\n")
}
