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
	var ends []func() error // the last to begin is the first to end
	defer func() {
		for _, end := range slices.Backward(ends) {
			err = errors.Join(err, end())
		}
	}()

	fmt.Println("Starting a Kubernetes control plane; the first time ever it has to be built.")
	began := time.Now()
	c, err := cluster.Start(ctx)
	if err != nil {
		return err
	}
	ends = append(ends, c.Stop)
	server, err := postgres.Start(ctx)
	if err != nil {
		return err
	}
	ends = append(ends, server.Close)
	database, err := server.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	ends = append(ends, func() error { return database.Drop(context.WithoutCancel(ctx)) })
	fmt.Printf("It is up after %.1f s, and a PostgreSQL. Building and installing three operators.\n", time.Since(began).Seconds())

	if err := operator.Define(ctx, c, "application", "reversewordsapp", "postgreswriter"); err != nil {
		return err
	}
	prepare := func(name string, env []string, args ...string) (story.Stage, error) {
		stage, err := prepare(ctx, c, name, env, args...)
		if err == nil {
			ends = append(ends, stage.Process.Stop)
		}
		return stage, err
	}
	applications, err := prepare("application", nil)
	if err != nil {
		return err
	}
	words, err := prepare("reversewordsapp", nil)
	if err != nil {
		return err
	}
	writers, err := prepare("postgreswriter", database.Environment(), "--create-tables", "--check-interval=2s")
	if err != nil {
		return err
	}

	if err := story.Application(ctx, applications); err != nil {
		return err
	}
	if err := story.ReverseWordsApp(ctx, words); err != nil {
		return err
	}
	if err := story.PostgresWriter(ctx, writers, server, database); err != nil {
		return err
	}
	if keep {
		return stay(ctx, c)
	}
	return nil
}

// prepare installs an operator and starts it, with env beside the environment of its own
// and args.
func prepare(ctx context.Context, c *cluster.Cluster, name string, env []string, args ...string) (story.Stage, error) {
	installed, err := operator.Install(ctx, c, name)
	if err != nil {
		return story.Stage{}, err
	}
	installed.Env = env
	process, err := installed.Start(ctx, args...)
	return story.Stage{
		Out: os.Stdout, Cluster: c, Operator: installed, Process: process, Namespace: "default", Patience: patience,
	}, err
}

// stay says how to reach the cluster and waits for Ctrl-C.
func stay(ctx context.Context, c *cluster.Cluster) error {
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\nIt stays up until Ctrl-C. In another terminal:\n")
	fmt.Printf("   export KUBECONFIG=%s\n", c.Kubeconfig())
	fmt.Printf("   %s get applications,reversewordsapps,postgreswriters,deployments,services,secrets,pods\n", kubectl)
	<-ctx.Done()
	fmt.Println("\nStopping.")
	return nil
}
