// Package installed_test tests the example operators as `make build-installer` installs them, on a real
// cluster: each operator runs as a process with the flags of its Deployment and the rights of its
// ServiceAccount, and people use it with the ClusterRoles view and edit.
package installed_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// limit bounds waits for anything that usually takes seconds. A wait includes kubectl's start.
const limit = 2 * time.Minute

var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared, cluster.WithStorage())) }

// An example is one of the example operators.
type example struct {
	name string
	// resource is the custom resource, in the stored version if there are several: others need a running operator.
	// sample is an object of it in config/samples.
	resource, sample string
	// scales means that the resource has the subresource scale.
	scales bool
	// remaining are the ClusterRoles of the operator in the variant for one namespace.
	remaining []string
	// webhook is the Service through which the API server reaches the operator.
	webhook string
	// needs is the name of another operator that has to run.
	needs string
	// environment returns the environment of the process.
	environment func(*testing.T) []string
}

var (
	application = example{
		name: "application", resource: "applications.v1alpha1.application.sample.ibm.com", sample: "application1", scales: true,
		webhook: "operator-application-webhook-service", remaining: []string{"conversion-role"},
	}
	words = example{
		name: "reversewordsapp", resource: "reversewordsapps.apps.linuxera.org", sample: "example-reversewordsapp", scales: true,
	}
	bookStore = example{
		name: "bookstore", resource: "bookstores.blog.velotio.com", sample: "example-bookstore", scales: true,
		remaining: []string{"storageclasses-role"},
	}
	writer = example{
		name: "postgreswriter", resource: "postgreswriters.demo.yash.com", sample: "sample-student", environment: newDatabase,
	}
	site = example{
		name: "site", resource: "sites.web.example.com", sample: "site-sample", needs: "reversewordsapp",
	}
)

// examples returns the operators to test.
func examples() []example {
	if testing.Short() {
		return []example{application}
	}
	return []example{application, words, bookStore, writer, site}
}

// newDatabase returns the environment of an operator with an empty database of its own.
func newDatabase(t *testing.T) []string {
	t.Helper()
	database := postgres.New(t).Database(t)
	_, err := database.Pool.Exec(t.Context(), "create table students (id text primary key, name text, age integer, country text)")
	require.NoError(t, err)
	return database.Environment()
}

// define installs all custom kinds before the first object with an owner is made: see operator.Define.
var define = sync.OnceValue(func() error {
	return operator.Define(context.Background(), shared, "application", "reversewordsapp", "bookstore", "postgreswriter", "site")
})
