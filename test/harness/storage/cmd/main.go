// Command cmd is the storage of a cluster: a CSI driver that stores nothing, and the kubelets' part
// in the growth of a volume. Package cluster builds and starts the command in the cluster's folder,
// with the path of a kubeconfig as the only argument.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr/funcr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trueup-go/trueup/test/harness/storage"
	"github.com/trueup-go/trueup/test/harness/storage/internal/driver"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: storage KUBECONFIG")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	config.QPS = -1
	log := funcr.New(func(_, line string) { fmt.Fprintln(os.Stderr, line) }, funcr.Options{LogTimestamp: true})
	ctrl.SetLogger(log)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return driver.Serve(ctx, log) })
	group.Go(func() error { return storage.Nodes(ctx, config, ".") })
	return group.Wait()
}
