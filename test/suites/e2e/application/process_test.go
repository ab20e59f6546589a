package application_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

const lease = "application-operator.application.sample.ibm.com"

// TestInstalled checks the objects of config/default: the server accepted them and created the
// operator's pod.
func TestInstalled(t *testing.T) { tests.CheckInstalled(t) }

func TestHealth(t *testing.T) {
	process := start(t)
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/other": http.StatusNotFound,
	} {
		got, err := process.Probe(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
}

// TestRestart ends an operator and starts another: unchanged children cost no write, and changes
// made meanwhile are handled.
func TestRestart(t *testing.T) {
	first := start(t)
	var fixtures []fixture
	for range 3 {
		fixtures = append(fixtures, newFixture(t, first))
	}
	require.NoError(t, first.Stop())
	require.Empty(t, tests.LeaseHolder(t, lease), "the lease is free for the next")

	mark := shared.Mark()
	second := start(t)
	for i := range fixtures {
		fixtures[i].operator = second
		fixtures[i].settle(t)
		require.Empty(t, fixtures[i].allRequests(t, mark))
	}
	require.NoError(t, second.Stop())

	meanwhile := fixtures[0]
	meanwhile.change(t, `{"title":"Universe"}`)
	meanwhile.patch(t, meanwhile.deployment(t), `{"spec":{"replicas":5}}`)
	service := meanwhile.service(t)
	require.NoError(t, admin(t).Delete(t.Context(), service))
	mark = shared.Mark()
	meanwhile.operator = start(t)
	meanwhile.settle(t)
	require.Equal(t, map[string]int{"patch secrets": 1, "patch deployments": 1, "patch services": 1}, meanwhile.requests(t, mark))
	require.Equal(t, "Universe", string(meanwhile.secret(t).Data["GREETING_MESSAGE"]))
	require.Equal(t, int32(2), *meanwhile.deployment(t).Spec.Replicas)
	require.NotEqual(t, service.UID, meanwhile.service(t).UID)
}

// TestFrozenAndKilled freezes an operator, which then catches up, and kills an operator, whose work
// the next one finishes.
func TestFrozenAndKilled(t *testing.T) {
	first := startWith(t, installed(t))
	require.NoError(t, first.Resume(), "it need not be frozen")
	f := newFixture(t, first)
	require.NoError(t, first.Freeze())
	require.NoError(t, first.Freeze(), "it may be frozen")
	mark := shared.Mark()
	f.change(t, `{"title":"Universe"}`)
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := first.Probe(short, "/healthz")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, f.allRequests(t, mark))
	require.NoError(t, first.Resume())
	f.settle(t)
	require.Equal(t, "Universe", string(f.secret(t).Data["GREETING_MESSAGE"]))

	require.NoError(t, first.Freeze())
	require.NoError(t, first.Kill(), "frozen as it is")
	require.NoError(t, first.Kill(), "it is dead already")
	require.Equal(t, "signal: killed", first.Exit())
	require.NoError(t, first.Stop())
	require.ErrorIs(t, first.Freeze(), os.ErrProcessDone)
	require.ErrorIs(t, first.Resume(), os.ErrProcessDone)
	f.change(t, `{"title":"Multiverse"}`)
	f.operator = startWith(t, installed(t))
	f.settle(t)
	require.Equal(t, "Multiverse", string(f.secret(t).Data["GREETING_MESSAGE"]))

	require.NoError(t, f.operator.Freeze())
	require.NoError(t, f.operator.Stop())
	require.Equal(t, "exit status 0", f.operator.Exit(), "it went on and ended as it should")
}

func TestLeaderElection(t *testing.T) {
	o := installed(t)
	first := start(t)
	require.NotEmpty(t, tests.LeaseHolder(t, lease))
	second, err := o.Run("--leader-elect", "--leader-election-namespace", o.Namespace)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Stop()) })
	attempts := func() bool {
		return strings.Contains(second.Log(), "ttempting to acquire leader lease")
	}
	eventually(t, func(context.Context) error { return expect(attempts(), "the second does not try:\n%s", second.Log()) })
	require.Empty(t, second.Entries("Starting workers"), "it waits")
	newFixture(t, first)

	require.NoError(t, first.Stop())
	eventually(t, func(context.Context) error {
		return expect(len(second.Entries("Starting workers")) > 0, "the second does not take over:\n%s", second.Log())
	})
	newFixture(t, second)
}

func TestWatchNamespace(t *testing.T) {
	inside, outside := shared.Namespace(t), shared.Namespace(t)
	for name, test := range map[string]struct {
		args, env []string
		watched   []string
	}{
		"flag":              {args: []string{"--watch-namespace", inside}, watched: []string{inside}},
		"environment":       {env: []string{"WATCH_NAMESPACE=" + inside}, watched: []string{inside}},
		"empty environment": {env: []string{"WATCH_NAMESPACE="}, watched: []string{inside, outside}},
		"neither":           {watched: []string{inside, outside}},
		"the flag wins": {
			args: []string{"--watch-namespace=" + inside}, env: []string{"WATCH_NAMESPACE=" + outside},
			watched: []string{inside},
		},
		"an empty flag wins": {
			args: []string{"--watch-namespace="}, env: []string{"WATCH_NAMESPACE=" + outside},
			watched: []string{inside, outside},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, mark := installed(t), shared.Mark()
			o.Env = test.env
			process := startWith(t, o, test.args...)
			watches := "all namespaces"
			if len(test.watched) == 1 {
				watches = inside
			}
			entries := process.Entries("watching")
			require.Len(t, entries, 1)
			require.Equal(t, watches, entries[0].Text("namespace"))
			// Once ready, the operator has listed or watched everything that it watches.
			requests, err := shared.Requests(mark, cluster.ByUser(o.User()), func(r cluster.Request) bool { return r.Verb == "watch" })
			require.NoError(t, err)
			require.NotEmpty(t, requests)
			for _, request := range requests {
				if request.Resource == "customresourcedefinitions" {
					require.Contains(t, request.URI, "fieldSelector=metadata.name%3Dapplications.application.sample.ibm.com", "its own only")
					continue
				}
				if len(test.watched) == 1 {
					require.Equal(t, inside, request.Namespace, request.URI)
				} else {
					require.Empty(t, request.Namespace, request.URI)
				}
				if request.Resource != "applications" {
					require.Contains(t, request.URI, "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dapplication-operator", "its own only")
				}
			}
			for _, namespace := range test.watched {
				f := fixture{operator: process, namespace: namespace, name: "app-" + strings.ReplaceAll(name, " ", "-")}
				f.create(t)
				f.settle(t)
			}
		})
	}
}

func TestChildLabels(t *testing.T) {
	process := startWith(t, installed(t), "--child-labels", "example.org/team=blue,tier=")
	f := newFixture(t, process)
	for kind, child := range f.children(t) {
		require.Equal(t, "blue", child.GetLabels()["example.org/team"], kind)
		require.Contains(t, child.GetLabels(), "tier", kind)
	}
	pods := f.pods(t)
	require.NoError(t, process.Stop())

	// Without the flag the labels go, and nothing else happens.
	f.operator = startWith(t, installed(t))
	f.settle(t)
	for kind, child := range f.children(t) {
		require.NotContains(t, child.GetLabels(), "example.org/team", kind)
		require.NotContains(t, child.GetLabels(), "tier", kind)
	}
	for i, pod := range f.pods(t) {
		require.Equal(t, pods[i].UID, pod.UID, "no rollout")
	}
}

func TestBadStarts(t *testing.T) {
	for name, test := range map[string]struct {
		args, env []string
		says      string
	}{
		"unknown flag":              {[]string{"--oops"}, nil, "flag provided but not defined: -oops"},
		"argument":                  {[]string{"oops"}, nil, `unexpected argument "oops"`},
		"not a boolean":             {[]string{"--leader-elect=oops"}, nil, `"oops"`},
		"not a namespace":           {[]string{"--watch-namespace=A"}, nil, "not the name of one namespace"},
		"two namespaces":            {[]string{"--watch-namespace=a,b"}, nil, "not the name of one namespace"},
		"environment":               {nil, []string{"WATCH_NAMESPACE=a,b"}, "WATCH_NAMESPACE"},
		"labels without values":     {[]string{"--child-labels=a"}, nil, `"a", which is not key=value`},
		"no label key":              {[]string{"--child-labels=a/b/c=d"}, nil, `Invalid value: "a/b/c"`},
		"no label value":            {[]string{"--child-labels=a=b c"}, nil, `Invalid value: "b c"`},
		"label twice":               {[]string{"--child-labels=a=b,a=c"}, nil, "names a label twice"},
		"label of its own":          {[]string{"--child-labels=app.kubernetes.io/managed-by=x"}, nil, `managed-by" is a label of the operator's own`},
		"no such address":           {[]string{"--health-probe-bind-address=oops"}, nil, "oops"},
		"lease without a namespace": {[]string{"--leader-elect"}, nil, "leader-election-namespace"},
		"no Service":                {[]string{"--webhook-service=oops"}, nil, "not namespace/name"},
		"no address of the webhook": {[]string{"--webhook-bind-address=oops"}, nil, "--webhook-bind-address: "},
		"no templates":              {[]string{"--templates=/no/such/folder"}, nil, "the folder: does not exist (see --templates-optional"},
		"no kubeconfig":             {[]string{"--kubeconfig=/no/such/file"}, nil, "/no/such/file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := run(t, test.env, test.args...)
			require.Equal(t, "exit status 1", process.Exit())
			require.Contains(t, process.Log(), test.says)
			last := process.Log()[strings.LastIndex(strings.TrimSpace(process.Log()), "\n")+1:]
			require.True(t, strings.HasPrefix(last, "application-operator: "), "the last line says why: %s", last)
		})
	}
}

func TestHelp(t *testing.T) {
	process := run(t, nil, "--help")
	require.Equal(t, "exit status 0", process.Exit())
	for _, flag := range []string{
		"metrics-bind-address", "metrics-secure", "health-probe-bind-address", "leader-elect", "leader-election-namespace",
		"watch-namespace", "child-labels", "templates", "templates-optional", "webhook-bind-address", "webhook-service",
		"kubeconfig", "zap-log-level",
	} {
		lines := strings.Split(process.Log(), "\n")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "-"+flag) })
		require.GreaterOrEqual(t, i, 0, flag)
		require.NotEmpty(t, strings.TrimSpace(lines[i+1]), "%s is explained", flag)
	}
}

// TestStatusOfOthers: a second instance, without leader election, may write a status last and end.
func TestStatusOfOthers(t *testing.T) {
	f := newFixture(t, startWith(t, installed(t), "--sync-period=2s"))
	tests.CheckStatus(t, f.named(), f.isAtRest)
}
