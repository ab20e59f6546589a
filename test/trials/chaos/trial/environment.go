package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// An environment is the cluster, the database and the operators, with the users and their objects.
type environment struct {
	plan       Plan
	out        io.Writer
	kinds      []*owners.Kind
	namespaces []string
	cluster    *cluster.Cluster
	server     *postgres.Server
	database   *postgres.Database
	admin      client.Client
	operators  map[string]*operatorPair // by the operators' names
	objects    []*object
	users      []*user
	webhook    webhook

	began    time.Time // the chaos
	journal  *journal
	events   events
	findings findings
	ends     []func() error // the last to begin is the first to end
}

func open(ctx context.Context, plan Plan, out io.Writer) (*environment, error) {
	e := &environment{plan: plan, out: out, kinds: owners.All(), operators: map[string]*operatorPair{}, journal: newJournal()}
	if err := e.begin(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *environment) begin(ctx context.Context) (err error) {
	e.cluster, err = cluster.Start(ctx, cluster.WithStorage(), cluster.WithKubectl(), cluster.AuditDeletions(),
		cluster.KeepRunning(cluster.Scheduler, cluster.ControllerManager))
	if err != nil {
		return err
	}
	e.ends = append(e.ends, e.cluster.Stop)
	if e.server, err = postgres.Start(ctx); err != nil {
		return err
	}
	e.ends = append(e.ends, e.server.Close)
	if e.database, err = e.server.CreateDatabase(ctx); err != nil {
		return err
	}
	e.ends = append(e.ends, func() error { return e.database.Drop(context.WithoutCancel(ctx)) })
	if err := e.prepareDatabase(ctx); err != nil {
		return err
	}
	if e.admin, err = e.client("judge"); err != nil {
		return err
	}
	for i := range namespaces {
		e.namespaces = append(e.namespaces, fmt.Sprintf("chaos-%d", i))
	}
	if err := e.createNamespaces(ctx, append(e.namespaces, refusedNamespace, contestedNamespace)); err != nil {
		return err
	}
	return errors.Join(e.startOperators(ctx), e.createUsers())
}

// client returns a client that may do everything, and knows all kinds.
func (e *environment) client(name string) (client.Client, error) {
	scheme := runtime.NewScheme()
	errs := []error{clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)}
	for _, k := range e.kinds {
		errs = append(errs, k.AddToScheme(scheme))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	config := e.cluster.Config()
	config.UserAgent = name
	config.Timeout = requestTimeout
	config.WarningHandlerWithContext = rest.NoWarnings{} // they are expected
	return client.New(config, client.Options{Scheme: scheme})
}

func (e *environment) createNamespaces(ctx context.Context, names []string) error {
	for _, name := range names {
		namespace := &corev1.Namespace{}
		namespace.Name = name
		if err := e.admin.Create(ctx, namespace); err != nil {
			return fmt.Errorf("cannot create a namespace: %w", err)
		}
	}
	return nil
}

func (e *environment) names() []string {
	var names []string
	for _, k := range e.kinds {
		names = append(names, k.Operator)
	}
	return names
}

// startOperators installs and starts the operators.
func (e *environment) startOperators(ctx context.Context) error {
	earlier, err := e.earlier(ctx)
	if err != nil {
		return err
	}
	if err := operator.Define(ctx, e.cluster, e.names()...); err != nil {
		return err
	}
	installed := make([]*operator.Operator, len(e.kinds))
	group, within := errgroup.WithContext(ctx)
	for i, k := range e.kinds {
		group.Go(func() (err error) { installed[i], err = operator.Install(within, e.cluster, k.Operator); return err })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, k := range e.kinds {
		if err := e.startOperator(k, installed[i], earlier); err != nil {
			return err
		}
	}
	return nil
}

// startOperator starts the operator of a kind. Without earlier, the folder of other builds, it is never replaced.
func (e *environment) startOperator(k *owners.Kind, installed *operator.Operator, earlier string) error {
	installed = installed.With("", append(e.database.Environment(), "PSQL_USER="+writer, "PSQL_PASSWORD="+writer)...)
	current, before := installed, (*operator.Operator)(nil)
	if e.plan.Programs != "" {
		current = installed.With(filepath.Join(e.plan.Programs, k.Operator))
	}
	if earlier != "" {
		before = installed.With(filepath.Join(earlier, k.Operator))
	}
	pair, err := e.newPair(k, current, before)
	if err != nil {
		return err
	}
	e.operators[k.Operator] = pair
	e.ends = append(e.ends, func() error { pair.close(); return nil })
	pair.main.start()
	return nil
}

// earlier returns the folder of the operators of an earlier commit; empty if the plan or the checkout has none.
func (e *environment) earlier(ctx context.Context) (string, error) {
	if !e.plan.Earlier {
		return "", nil
	}
	dir, commit, err := Earlier(ctx, e.names())
	switch {
	case errors.Is(err, errNoCommit):
		fmt.Fprintf(e.out, "No operator is replaced by an earlier build: %v\n", err)
		return "", nil
	case err != nil:
		return "", err
	}
	fmt.Fprintf(e.out, "The earlier build is that of commit %s.\n", commit)
	return dir, nil
}

// createUsers gives each user a part of the objects, and plans its actions.
func (e *environment) createUsers() error {
	for _, k := range e.kinds {
		e.objects = append(e.objects, newObjects(k, e.plan)...)
	}
	for i := range e.plan.Users {
		name := fmt.Sprintf("user-%d", i)
		c, err := e.client(name)
		if err != nil {
			return err
		}
		u := &user{environment: e, name: name, client: c}
		for j := i; j < len(e.objects); j += e.plan.Users {
			u.objects = append(u.objects, e.objects[j])
		}
		u.actions = planActions(e.plan, name, u.objects)
		e.users = append(e.users, u)
	}
	return nil
}

// waitUntil waits until this time since the beginning of the chaos.
func (e *environment) waitUntil(ctx context.Context, at time.Duration) error {
	return pass(ctx, time.Until(e.began.Add(at)))
}

// keepLogs writes the journal and the logs of the operators into a folder, so that failures can be investigated.
func (e *environment) keepLogs() (string, error) {
	dir, err := os.MkdirTemp("", "trueup-chaos-")
	if err != nil {
		return "", err
	}
	errs := []error{writeFile(filepath.Join(dir, "journal.jsonl"), e.journal.write)}
	for name, pair := range e.operators {
		errs = append(errs,
			writeFile(filepath.Join(dir, name+".log"), pair.main.writeLogs),
			writeFile(filepath.Join(dir, name+"-double.log"), pair.double.writeLogs))
	}
	if audit, err := os.ReadFile(filepath.Join(e.cluster.Dir(), "audit.log")); err == nil {
		errs = append(errs, os.WriteFile(filepath.Join(dir, "audit.log"), audit, 0o600))
	}
	return dir, errors.Join(errs...)
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func (e *environment) close() error {
	var errs []error
	for _, end := range slices.Backward(e.ends) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
