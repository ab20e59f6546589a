// Demo shows the example operators at work on a separate Kubernetes, or with -kubeconfig on an existing
// cluster. The exit code is 1 if an observation differs from the story.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/port"
	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/tools/demo/existing"
	"github.com/trueup-go/trueup/test/tools/demo/story"
)

// stepTimeout bounds waits for operations that usually take a fraction of a second. At the first run,
// programs are compiled meanwhile.
const stepTimeout = time.Minute

// removeTimeout bounds the removal of the demo's objects from an existing cluster.
const removeTimeout = 10 * time.Minute

func main() {
	log.SetLogger(logr.Discard()) // the story's client has nothing to add
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	d := &demo{out: out}
	flags := flag.NewFlagSet("demo", flag.ExitOnError) // controller-runtime has added flags to the default set
	flags.BoolVar(&d.keep, "keep", false, "leave everything running until Ctrl-C")
	flags.StringVar(&d.kubeconfig, "kubeconfig", "", "use the existing cluster of this `file`, without the steps that need an own cluster")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return d.run(ctx)
}

// A demo is the cluster and the programs that run there.
type demo struct {
	out        io.Writer
	keep       bool
	kubeconfig string // of an existing cluster, or empty

	// One of the two is the cluster.
	own      *cluster.Cluster
	existing *existing.Cluster

	namespace string
	ends      []func() error // the last to begin is the first to end
}

func (d *demo) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, d.end(ctx)) }()
	if err := d.begin(ctx); err != nil {
		return err
	}
	if err := d.tell(ctx); err != nil {
		return err
	}
	if d.keep {
		return d.stay(ctx)
	}
	return nil
}

// An operatorDemo is an operator, its arguments, and its story.
type operatorDemo struct {
	operator string
	args     []string
	// skipped says why an existing cluster does not do; empty if it does.
	skipped string
	// need starts the additional resources of this operator, and returns the environment variables
	// for the operator, or nil if there are none.
	need func(context.Context) ([]string, error)
	tell func(context.Context, story.Env) (story.Summary, error)
}

func (d *demo) operatorDemos() []operatorDemo {
	var rows database
	var webhook []string
	if d.existing != nil {
		webhook = []string{"--webhook-bind-address=0"} // the API server may be unable to reach this machine
	}
	return []operatorDemo{
		{operator: "application", args: webhook, tell: story.Application},
		{operator: "reversewordsapp", tell: story.ReverseWordsApp},
		{operator: "site", tell: story.Site}, // beside the operator of ReverseWordsApps
		{
			operator: "bookstore", args: []string{"--restart-after=1s"}, need: d.addStorage, tell: story.BookStore,
			skipped: "it takes the simulated volumes of the demo's own cluster",
		},
		{
			operator: "postgreswriter", args: []string{"--create-tables", "--check-interval=2s"},
			need: func(ctx context.Context) ([]string, error) { return d.startDatabase(ctx, &rows) },
			tell: func(ctx context.Context, env story.Env) (story.Summary, error) {
				return story.PostgresWriter(ctx, env, rows.server, rows.Database)
			},
			skipped: "it takes a PostgreSQL server of the demo's own",
		},
	}
}

// tell tells every story and then sums up. Meanwhile the next story is prepared, which takes a
// minute the first time, when everything has to be compiled.
func (d *demo) tell(ctx context.Context) error {
	demos := slices.DeleteFunc(d.operatorDemos(), d.skips)
	var names []string
	for _, current := range demos {
		names = append(names, current.operator)
	}
	if err := d.define(ctx, names...); err != nil {
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
	if d.existing != nil {
		return story.SumUp(d.out, story.ChildRequests, summaries...)
	}
	return story.SumUp(d.out, story.AllRequests, summaries...)
}

// skips reports whether the demo skips an operator, and then says why.
func (d *demo) skips(current operatorDemo) bool {
	if d.existing == nil || current.skipped == "" {
		return false
	}
	_, _ = fmt.Fprintf(d.out, "Skipped: the story of %s, as %s.\n", current.operator, current.skipped)
	return true
}

// define installs the custom kinds of all operators, and in an existing cluster everything that they need there.
func (d *demo) define(ctx context.Context, names ...string) (err error) {
	if d.existing == nil {
		return operator.Define(ctx, d.own, names...)
	}
	if err := d.existing.Install(ctx, names...); err != nil {
		return err
	}
	d.namespace, err = d.existing.Namespace(ctx)
	return err
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
	if d.kubeconfig != "" {
		if d.existing, err = existing.Open(d.kubeconfig); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(d.out, "Using the existing cluster %s.\n", d.existing.Config().Host)
		d.ends = append(d.ends, d.existing.Close, func() error { return d.remove(ctx, d.existing.Uninstall) })
		return nil
	}
	_, _ = fmt.Fprintln(d.out, "Starting a Kubernetes control plane; the first time ever it has to be built.")
	if d.own, err = cluster.Start(ctx, cluster.WithKubectl()); err != nil {
		return err
	}
	d.namespace = metav1.NamespaceDefault
	d.ends = append(d.ends, d.own.Stop)
	return nil
}

// remove removes objects from an existing cluster, also after Ctrl-C.
func (d *demo) remove(ctx context.Context, objects func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	return objects(ctx)
}

// addStorage adds storage to the cluster.
func (d *demo) addStorage(ctx context.Context) ([]string, error) {
	return nil, d.own.AddStorage(ctx)
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
func (d *demo) prepare(ctx context.Context, current operatorDemo) (env story.Env, err error) {
	var variables []string
	if current.need != nil {
		if variables, err = current.need(ctx); err != nil {
			return story.Env{}, err
		}
	}
	env = story.Env{Out: d.out, Own: d.own, Namespace: d.namespace, Timeout: stepTimeout}
	if d.existing != nil {
		env.Cluster = d.existing
		env.Operator, err = d.existing.Operator(ctx, current.operator)
	} else {
		env.Cluster = d.own
		env.Operator, err = operator.Install(ctx, d.own, current.operator)
	}
	if err != nil {
		return story.Env{}, err
	}
	metrics, err := port.Reserve(port.ReuseAddress)
	if err != nil {
		return story.Env{}, err
	}
	d.ends = append(d.ends, func() error { metrics.Release(); return nil })
	env.Metrics = fmt.Sprintf("127.0.0.1:%d", metrics.Number)
	env.Operator.Env = variables
	env.Process, err = env.Operator.Start(ctx, append(current.args, "--metrics-bind-address="+env.Metrics)...)
	if err != nil {
		return story.Env{}, err
	}
	d.ends = append(d.ends, env.Process.Stop)
	return env, nil
}

// end stops the operators last to first. In an existing cluster, they run until their objects are gone.
func (d *demo) end(ctx context.Context) error {
	var err error
	if d.existing != nil {
		err = d.remove(ctx, d.existing.RemoveNamespaces)
	}
	for _, end := range slices.Backward(d.ends) {
		err = errors.Join(err, end())
	}
	return err
}

// stay prints how to reach the cluster and waits for Ctrl-C.
func (d *demo) stay(ctx context.Context) error {
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return err
	}
	kubeconfig, kinds := d.kubeconfig, "applications,reversewordsapps,sites"
	if d.own != nil {
		kubeconfig, kinds = d.own.Kubeconfig(), kinds+",bookstores,postgreswriters"
	}
	_, _ = fmt.Fprintf(d.out, "\nEverything stays until Ctrl-C. In another terminal:\n"+
		"   export KUBECONFIG=%s\n   %s --namespace=%s get %s,all,secrets,pvc\n", kubeconfig, kubectl, d.namespace, kinds)
	<-ctx.Done()
	_, _ = fmt.Fprintln(d.out, "\nStopping.")
	return nil
}
