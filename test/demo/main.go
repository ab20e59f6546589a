// Demo shows the example operators at work on a Kubernetes of its own, and ends
// with exit code 1 if it sees anything else than what it tells.
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
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/cluster"
	"github.com/trueup-go/trueup/test/demo/story"
	"github.com/trueup-go/trueup/test/e2e/operator"
	"github.com/trueup-go/trueup/test/postgres"
)

// patience is how long the story waits for what takes a fraction of a second.
const patience = 20 * time.Second

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

// demo is what the stories need.
type demo struct {
	cluster  *cluster.Cluster
	server   *postgres.Server
	database *postgres.Database
	ends     []func() error // the last to begin is the first to end
}

// An act is an operator, how it is started, and its story.
type act struct {
	operator string
	env      []string // beside what is in every operator's environment
	args     []string
	tell     func(context.Context, story.Stage) (story.Summary, error)
}

func (d *demo) acts() []act {
	return []act{
		{operator: "application", tell: story.Application},
		{operator: "reversewordsapp", tell: story.ReverseWordsApp},
		{operator: "bookstore", args: []string{"--restart-after=1s"}, tell: story.BookStore},
		{
			operator: "postgreswriter", env: d.database.Environment(), args: []string{"--create-tables", "--check-interval=2s"},
			tell: func(ctx context.Context, stage story.Stage) (story.Summary, error) {
				return story.PostgresWriter(ctx, stage, d.server, d.database)
			},
		},
	}
}

// tell tells every story, once all operators run, and then sums up.
func (d *demo) tell(ctx context.Context) error {
	acts := d.acts()
	fmt.Printf("Building and installing %d operators.\n", len(acts))
	var names []string
	for _, act := range acts {
		names = append(names, act.operator)
	}
	if err := operator.Define(ctx, d.cluster, names...); err != nil {
		return err
	}
	var stages []story.Stage
	for _, act := range acts {
		stage, err := d.prepare(ctx, act)
		if err != nil {
			return err
		}
		stages = append(stages, stage)
	}
	var summaries []story.Summary
	for i, act := range acts {
		summary, err := act.tell(ctx, stages[i])
		if err != nil {
			return err
		}
		summaries = append(summaries, summary)
	}
	return story.SumUp(os.Stdout, summaries...)
}

func (d *demo) begin(ctx context.Context) (err error) {
	fmt.Println("Starting a Kubernetes control plane; the first time ever it has to be built.")
	began := time.Now()
	if d.cluster, err = cluster.Start(ctx, cluster.WithStorage()); err != nil {
		return err
	}
	d.ends = append(d.ends, d.cluster.Stop)
	if d.server, err = postgres.Start(ctx); err != nil {
		return err
	}
	d.ends = append(d.ends, d.server.Close)
	if d.database, err = d.server.CreateDatabase(ctx); err != nil {
		return err
	}
	d.ends = append(d.ends, func() error { return d.database.Drop(context.WithoutCancel(ctx)) })
	fmt.Printf("It is up after %.1f s, with storage, and a PostgreSQL.\n", time.Since(began).Seconds())
	return nil
}

// prepare installs an act's operator and starts it.
func (d *demo) prepare(ctx context.Context, act act) (story.Stage, error) {
	installed, err := operator.Install(ctx, d.cluster, act.operator)
	if err != nil {
		return story.Stage{}, err
	}
	installed.Env = act.env
	process, err := installed.Start(ctx, act.args...)
	if err != nil {
		return story.Stage{}, err
	}
	d.ends = append(d.ends, process.Stop)
	return story.Stage{
		Out: os.Stdout, Cluster: d.cluster, Operator: installed, Process: process, Namespace: "default", Patience: patience,
	}, nil
}

func (d *demo) end() error {
	var err error
	for _, end := range slices.Backward(d.ends) {
		err = errors.Join(err, end())
	}
	return err
}

// stay says how to reach the cluster and waits for Ctrl-C.
func stay(ctx context.Context, c *cluster.Cluster) error {
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\nIt stays up until Ctrl-C. In another terminal:\n")
	fmt.Printf("   export KUBECONFIG=%s\n", c.Kubeconfig())
	fmt.Printf("   %s get applications,reversewordsapps,bookstores,postgreswriters,all,secrets,pvc\n", kubectl)
	<-ctx.Done()
	fmt.Println("\nStopping.")
	return nil
}
