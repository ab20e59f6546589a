package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// workers is the number of owners that an operator reconciles at a time.
const workers = 4

// An environment is a cluster that serves the kinds of all children.
type environment struct {
	cluster *cluster.Cluster
	scheme  *runtime.Scheme
	admin   client.Client // reads from the server
	clients *kubernetes.Clientset
}

func newEnvironment(ctx context.Context, c *cluster.Cluster) (*environment, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	admin, err := client.NewWithWatch(c.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	clients, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	return &environment{cluster: c, scheme: scheme, admin: admin, clients: clients}, cluster.Define(ctx, admin, databaseDefinition())
}

// onNewCluster calls do with a new cluster, and stops the cluster. No controllers run but that of Deployments
// and those of what a namespace begins with: the others, such as those of endpoints, would take more processor time
// than the operators.
func onNewCluster(ctx context.Context, do func(*environment) error) error {
	c, err := cluster.Start(ctx, cluster.Nodes(0),
		cluster.Flags(cluster.ControllerManager,
			"--controllers=deployment-controller,serviceaccount-controller,root-ca-certificate-publisher-controller"))
	if err != nil {
		return err
	}
	e, err := newEnvironment(ctx, c)
	if err == nil {
		err = do(e)
	}
	return errors.Join(err, c.Stop())
}

// createOwners creates a namespace with so many owners.
func (e *environment) createOwners(ctx context.Context, count int) ([]*corev1.ConfigMap, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "peers-"}}
	if err := e.admin.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("cannot create a namespace: %w", err)
	}
	owners := make([]*corev1.ConfigMap, count)
	for i := range owners {
		owners[i] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: fmt.Sprintf("shop-%d", i)}}
	}
	return owners, eachOf(ctx, owners, func(ctx context.Context, i int) error { return e.admin.Create(ctx, owners[i]) })
}

// eachOf calls do for the index of each owner, with the workers.
func eachOf(ctx context.Context, owners []*corev1.ConfigMap, do func(ctx context.Context, i int) error) error {
	workerGroup, ctx := errgroup.WithContext(ctx)
	workerGroup.SetLimit(workers)
	for i := range owners {
		workerGroup.Go(func() error { return do(ctx, i) })
	}
	return workerGroup.Wait()
}
