// Package status_test tests package status on a real API server, and compares the results of
// package readiness with those of kstatus.
package status_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	// limit is how long a test waits for anything.
	limit = time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}

// prepare creates the resources that all tests share: a scheme and the custom kinds.
var prepare = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(panelGVK.GroupVersion(), &Panel{}, &PanelList{}, &Lamp{}, &Odometer{})
	metav1.AddToGroupVersion(scheme, panelGVK.GroupVersion())
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	return scheme, cluster.Define(context.Background(), c, panelDefinition(), lampDefinition(), odometerDefinition())
})

// newClient is a client of a program that calls itself name.
func newClient(t *testing.T, name string) client.Client {
	t.Helper()
	scheme, err := prepare()
	require.NoError(t, err)
	config := shared.Config()
	config.UserAgent = name
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return c
}

// requests counts the requests of the program called name.
func requests(t *testing.T, since cluster.Mark, name string) map[string]int {
	t.Helper()
	found, err := shared.Requests(since, cluster.ByUserAgent(name), func(r cluster.Request) bool { return r.Resource != "" })
	require.NoError(t, err)
	return cluster.Counts(found)
}
