// Demo shows the example operators at work on a separate Kubernetes. The exit code is 1 if an
// observation differs from the story.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/tools/demo/story"
)

// stepTimeout bounds waits for operations that usually take a fraction of a second. At the first run,
// programs are compiled meanwhile.
const stepTimeout = time.Minute

func main() {
	keep := flag.Bool("keep", false, "leave everything running until Ctrl-C")
	flag.Parse()
	log.SetLogger(logr.Discard()) // the story's client has nothing to add
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, keep bool) (err error) {
	d := &demo{}
	defer func() { err = errors.Join(err, d.end()) }()
	if err := d.begin(ctx); err != nil {
		return err
	}
	if err := d.tell(ctx); err != nil {
		return err
	}
	if keep {
		return stay(ctx, d.cluster)
	}
	return nil
}

// A demo is the cluster and the programs that run there.
type demo struct {
	cluster *cluster.Cluster
	ends    []func() error // the last to begin is the first to end
}

// An operatorDemo is an operator, its arguments, and its story.
type operatorDemo struct {
	operator string
	args     []string
	// need starts the additional resources of this operator, and returns the environment variables
	// for the operator, or nil if there are none.
	need func(context.Context) ([]string, error)
	tell func(context.Context, story.Env) (story.Summary, error)
}

func (d *demo) operatorDemos() []operatorDemo {
	var rows database
	return []operatorDemo{
		{operator: "application", tell: story.Application},
		{operator: "reversewordsapp", tell: story.ReverseWordsApp},
		{operator: "site", tell: story.Site}, // beside the operator of ReverseWordsApps
		{operator: "bookstore", args: []string{"--restart-after=1s"}, need: d.addStorage, tell: story.BookStore},
		{
			operator: "postgreswriter", args: []string{"--create-tables", "--check-interval=2s"},
			need: func(ctx context.Context) ([]string, error) { return d.startDatabase(ctx, &rows) },
			tell: func(ctx context.Context, env story.Env) (story.Summary, error) {
				return story.PostgresWriter(ctx, env, rows.server, rows.Database)
			},
		},
	}
}

// tell tells every story and then sums up. Meanwhile the next story is prepared, which takes a
// minute the first time, when everything has to be compiled.
func (d *demo) tell(ctx context.Context) error {
	demos := d.operatorDemos()
	var names []string
	for _, current := range demos {
		names = append(names, current.operator)
	}
	if err := operator.Define(ctx, d.cluster, names...); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	preparing, envs := d.prepareAll(ctx, demos)
	defer func() {
		cancel()
		_ = preparing.Wait() // its error is told below, unless a story failed before
	}()
	var summaries []story.Summary
	for _, current := range demos {
		env, prepared := <-envs
		if !prepared {
			return preparing.Wait()
		}
		summary, err := current.tell(ctx, env)
		if err != nil {
			return err
		}
		summaries = append(summaries, summary)
	}
	return story.SumUp(os.Stdout, summaries...)
}

// prepareAll prepares the operators one after another and sends their environments. The channel is closed
// after the last one.
func (d *demo) prepareAll(ctx context.Context, demos []operatorDemo) (*errgroup.Group, <-chan story.Env) {
	envs := make(chan story.Env, len(demos))
	preparing := &errgroup.Group{}
	preparing.Go(func() error {
		defer close(envs)
		for _, current := range demos {
			env, err := d.prepare(ctx, current)
			if err != nil {
				return err
			}
			envs <- env
		}
		return nil
	})
	return preparing, envs
}

func (d *demo) begin(ctx context.Context) (err error) {
	fmt.Println("Starting a Kubernetes control plane; the first time ever it has to be built.")
	if d.cluster, err = cluster.Start(ctx, cluster.WithKubectl()); err != nil {
		return err
	}
	d.ends = append(d.ends, d.cluster.Stop)
	return nil
}

// addStorage adds storage to the cluster.
func (d *demo) addStorage(ctx context.Context) ([]string, error) {
	return nil, d.cluster.AddStorage(ctx)
}

// A database is one of a PostgreSQL server.
type database struct {
	*postgres.Database
	server *postgres.Server
}

// startDatabase starts a PostgreSQL server and stores one of its databases in rows.
func (d *demo) startDatabase(ctx context.Context, rows *database) (env []string, err error) {
	if rows.server, err = postgres.Start(ctx); err != nil {
		return nil, err
	}
	d.ends = append(d.ends, rows.server.Close)
	if rows.Database, err = rows.server.CreateDatabase(ctx); err != nil {
		return nil, err
	}
	d.ends = append(d.ends, func() error { return rows.Drop(context.WithoutCancel(ctx)) })
	return rows.Environment(), nil
}

// prepare installs and starts the operator of a demo.
func (d *demo) prepare(ctx context.Context, current operatorDemo) (story.Env, error) {
	var env []string
	if current.need != nil {
		var err error
		if env, err = current.need(ctx); err != nil {
			return story.Env{}, err
		}
	}
	installed, err := operator.Install(ctx, d.cluster, current.operator)
	if err != nil {
		return story.Env{}, err
	}
	installed.Env = env
	process, err := installed.Start(ctx, current.args...)
	if err != nil {
		return story.Env{}, err
	}
	d.ends = append(d.ends, process.Stop)
	return story.Env{
		Out: os.Stdout, Cluster: d.cluster, Operator: installed, Process: process, Namespace: "default", Timeout: stepTimeout,
	}, nil
}

func (d *demo) end() error {
	var err error
	for _, end := range slices.Backward(d.ends) {
		err = errors.Join(err, end())
	}
	return err
}

// stay prints how to reach the cluster and waits for Ctrl-C.
func stay(ctx context.Context, c *cluster.Cluster) error {
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\nIt stays up until Ctrl-C. In another terminal:\n")
	fmt.Printf("   export KUBECONFIG=%s\n", c.Kubeconfig())
	fmt.Printf("   %s get applications,reversewordsapps,sites,bookstores,postgreswriters,all,secrets,pvc\n", kubectl)
	<-ctx.Done()
	fmt.Println("\nStopping.")
	return nil
}
