package together

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// An environment is the cluster, the database and the operators, with the workers and their objects.
type environment struct {
	plan       Plan
	kinds      []*kind
	namespaces []string
	cluster    *cluster.Cluster
	database   *postgres.Database
	admin      client.Client
	// users are whom the operators act as, and processes the operators, in the order of
	// the kinds.
	users     []string
	processes []*operator.Process
	objects   []*object
	workers   []*worker
	marks     marks

	ends []func() error // the last to begin is the first to end
}

func open(ctx context.Context, plan Plan) (*environment, error) {
	e := &environment{plan: plan, kinds: kinds(), marks: marks{of: map[ref]mark{}}}
	if err := e.begin(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *environment) begin(ctx context.Context) (err error) {
	if e.cluster, err = cluster.Start(ctx, cluster.WithStorage()); err != nil {
		return err
	}
	e.ends = append(e.ends, e.cluster.Stop)
	server, err := postgres.Start(ctx)
	if err != nil {
		return err
	}
	e.ends = append(e.ends, server.Close)
	if e.database, err = server.CreateDatabase(ctx); err != nil {
		return err
	}
	e.ends = append(e.ends, func() error { return e.database.Drop(context.WithoutCancel(ctx)) })
	if err := e.makeTables(ctx); err != nil {
		return err
	}
	if e.admin, err = e.client("judge"); err != nil {
		return err
	}
	if err := e.makeNamespaces(ctx); err != nil {
		return err
	}
	return errors.Join(e.startOperators(ctx), e.createWorkers())
}

// scheme knows all kinds.
func (e *environment) scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	errs := []error{clientgoscheme.AddToScheme(scheme)}
	for _, k := range e.kinds {
		errs = append(errs, k.addToScheme(scheme))
	}
	return scheme, errors.Join(errs...)
}

// client is one that may do everything.
func (e *environment) client(name string) (client.Client, error) {
	scheme, err := e.scheme()
	if err != nil {
		return nil, err
	}
	config := e.cluster.Config()
	config.UserAgent = name
	config.WarningHandlerWithContext = rest.NoWarnings{} // they are expected
	return client.New(config, client.Options{Scheme: scheme})
}

func (e *environment) makeTables(ctx context.Context) error {
	for _, table := range tables {
		_, err := e.database.Pool.Exec(ctx, "create table "+table+" (id text primary key, name text, age integer, country text)")
		if err != nil {
			return fmt.Errorf("cannot make table %s: %w", table, err)
		}
	}
	return nil
}

func (e *environment) makeNamespaces(ctx context.Context) error {
	for i := range namespaces {
		namespace := &corev1.Namespace{}
		namespace.Name = fmt.Sprintf("soak-%d", i)
		if err := e.admin.Create(ctx, namespace); err != nil {
			return fmt.Errorf("cannot create a namespace: %w", err)
		}
		e.namespaces = append(e.namespaces, namespace.Name)
	}
	return nil
}

// startOperators installs and starts them all.
func (e *environment) startOperators(ctx context.Context) error {
	var names []string
	for _, k := range e.kinds {
		names = append(names, k.operator)
	}
	if err := operator.Define(ctx, e.cluster, names...); err != nil {
		return err
	}
	for _, k := range e.kinds {
		installed, err := operator.Install(ctx, e.cluster, k.operator)
		if err != nil {
			return err
		}
		installed.Env = e.database.Environment()
		process, err := installed.Start(ctx, k.args...)
		if err != nil {
			return err
		}
		e.ends = append(e.ends, process.Stop)
		e.users = append(e.users, installed.User())
		e.processes = append(e.processes, process)
	}
	return nil
}

// createWorkers assigns objects to every worker and plans its actions.
func (e *environment) createWorkers() error {
	for _, k := range e.kinds {
		e.objects = append(e.objects, newObjects(k, e.plan)...)
	}
	for i := range e.plan.Workers {
		name := fmt.Sprintf("hand-%d", i)
		c, err := e.client(name)
		if err != nil {
			return err
		}
		w := &worker{env: e, client: c, done: map[*kind]int{}, late: map[*kind]int{}}
		for j := i; j < len(e.objects); j += e.plan.Workers {
			w.objects = append(w.objects, e.objects[j])
		}
		w.actions = planActions(e.plan, name, w.objects)
		e.workers = append(e.workers, w)
	}
	return nil
}

// objectsOf returns the objects of a kind, including deleted ones.
func (e *environment) objectsOf(k *kind) []*object {
	return slices.DeleteFunc(slices.Clone(e.objects), func(o *object) bool { return o.kind != k })
}

// keepLogs writes the operators' logs into a folder, so that failures can be investigated.
func (e *environment) keepLogs(out io.Writer) error {
	dir, err := os.MkdirTemp("", "trueup-together-")
	if err != nil {
		return err
	}
	for i, k := range e.kinds {
		if err := os.WriteFile(filepath.Join(dir, k.operator+".log"), []byte(e.processes[i].Log()), 0o600); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "The operators' logs are in %s.\n", dir)
	return err
}

func (e *environment) close() error {
	var errs []error
	for _, end := range slices.Backward(e.ends) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
