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

// A stage is where everything takes place.
type stage struct {
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
	hands     []*hand
	marks     marks

	ends []func() error // the last to begin is the first to end
}

func open(ctx context.Context, plan Plan) (*stage, error) {
	s := &stage{plan: plan, kinds: kinds(), marks: marks{of: map[ref]mark{}}}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) begin(ctx context.Context) (err error) {
	if s.cluster, err = cluster.Start(ctx, cluster.WithStorage()); err != nil {
		return err
	}
	s.ends = append(s.ends, s.cluster.Stop)
	server, err := postgres.Start(ctx)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, server.Close)
	if s.database, err = server.CreateDatabase(ctx); err != nil {
		return err
	}
	s.ends = append(s.ends, func() error { return s.database.Drop(context.WithoutCancel(ctx)) })
	if err := s.makeTables(ctx); err != nil {
		return err
	}
	if s.admin, err = s.client("judge"); err != nil {
		return err
	}
	if err := s.makeNamespaces(ctx); err != nil {
		return err
	}
	return errors.Join(s.startOperators(ctx), s.hire())
}

// scheme knows all kinds.
func (s *stage) scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	errs := []error{clientgoscheme.AddToScheme(scheme)}
	for _, k := range s.kinds {
		errs = append(errs, k.addToScheme(scheme))
	}
	return scheme, errors.Join(errs...)
}

// client is one that may do everything.
func (s *stage) client(name string) (client.Client, error) {
	scheme, err := s.scheme()
	if err != nil {
		return nil, err
	}
	config := s.cluster.Config()
	config.UserAgent = name
	config.WarningHandlerWithContext = rest.NoWarnings{} // they are expected
	return client.New(config, client.Options{Scheme: scheme})
}

func (s *stage) makeTables(ctx context.Context) error {
	for _, table := range tables {
		_, err := s.database.Pool.Exec(ctx, "create table "+table+" (id text primary key, name text, age integer, country text)")
		if err != nil {
			return fmt.Errorf("cannot make table %s: %w", table, err)
		}
	}
	return nil
}

func (s *stage) makeNamespaces(ctx context.Context) error {
	for i := range namespaces {
		namespace := &corev1.Namespace{}
		namespace.Name = fmt.Sprintf("soak-%d", i)
		if err := s.admin.Create(ctx, namespace); err != nil {
			return fmt.Errorf("cannot create a namespace: %w", err)
		}
		s.namespaces = append(s.namespaces, namespace.Name)
	}
	return nil
}

// startOperators installs and starts them all.
func (s *stage) startOperators(ctx context.Context) error {
	var names []string
	for _, k := range s.kinds {
		names = append(names, k.operator)
	}
	if err := operator.Define(ctx, s.cluster, names...); err != nil {
		return err
	}
	for _, k := range s.kinds {
		installed, err := operator.Install(ctx, s.cluster, k.operator)
		if err != nil {
			return err
		}
		installed.Env = s.database.Environment()
		process, err := installed.Start(ctx, k.args...)
		if err != nil {
			return err
		}
		s.ends = append(s.ends, process.Stop)
		s.users = append(s.users, installed.User())
		s.processes = append(s.processes, process)
	}
	return nil
}

// hire assigns objects to every hand and plans its acts.
func (s *stage) hire() error {
	for _, k := range s.kinds {
		s.objects = append(s.objects, newObjects(k, s.plan)...)
	}
	for i := range s.plan.Hands {
		name := fmt.Sprintf("hand-%d", i)
		c, err := s.client(name)
		if err != nil {
			return err
		}
		h := &hand{stage: s, client: c, done: map[*kind]int{}, late: map[*kind]int{}}
		for j := i; j < len(s.objects); j += s.plan.Hands {
			h.objects = append(h.objects, s.objects[j])
		}
		h.deeds = deedsOf(s.plan, name, h.objects)
		s.hands = append(s.hands, h)
	}
	return nil
}

// objectsOf returns the objects of a kind, including deleted ones.
func (s *stage) objectsOf(k *kind) []*object {
	return slices.DeleteFunc(slices.Clone(s.objects), func(o *object) bool { return o.kind != k })
}

// keepLogs writes the operators' logs into a folder, so that failures can be investigated.
func (s *stage) keepLogs(out io.Writer) error {
	dir, err := os.MkdirTemp("", "trueup-together-")
	if err != nil {
		return err
	}
	for i, k := range s.kinds {
		if err := os.WriteFile(filepath.Join(dir, k.operator+".log"), []byte(s.processes[i].Log()), 0o600); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "The operators' logs are in %s.\n", dir)
	return err
}

func (s *stage) close() error {
	var errs []error
	for _, end := range slices.Backward(s.ends) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
