package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

var (
	shared *cluster.Cluster
	scheme = runtime.NewScheme()
	admin  client.Client // may do everything
	server string        // the API server's version
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	// Autoscalers report every 15 s by default, which every test of one would wait for.
	code := cluster.Main(m, &shared,
		cluster.Flags("kube-controller-manager", "--horizontal-pod-autoscaler-sync-period=200ms"))
	if code == 0 && isWhole() {
		if err := compareResults(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// prepare creates the resources that all tests share: a client and a custom kind.
var prepare = sync.OnceValue(func() error {
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := addGadgets(scheme); err != nil {
		return err
	}
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	admin = c
	if server, err = versionOf(shared.Config()); err != nil {
		return err
	}
	return cluster.Define(context.Background(), c, gadgetCRD())
})

func versionOf(config *rest.Config) (string, error) {
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	info, err := c.ServerVersion()
	if err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// serverBefore reports whether the server is of an older minor version, such as 1.34.
func serverBefore(minor string) bool {
	return semver.Compare(server, "v"+minor) < 0
}

// requireServed skips a test on another version than the pinned one if that version does not serve the kind.
func requireServed(t *testing.T, child string, mappingErr error) {
	t.Helper()
	if meta.IsNoMatchError(mappingErr) && errors.Is(cluster.CheckVersion(t.Context()), cluster.ErrOtherVersion) {
		shown.Lock()
		defer shown.Unlock()
		shown.unserved.Insert(child)
		t.Skipf("%s does not serve %s: %v", server, child, mappingErr)
	}
	require.NoError(t, mappingErr)
}
