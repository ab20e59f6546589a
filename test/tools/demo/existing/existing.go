// Package existing installs example operators in a cluster that somebody else started, and removes them again. It changes no
// object that it has not made.
package existing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

const (
	// fieldOwner marks the demo's objects. An earlier demo that was killed has left objects with the same mark, so they are
	// used and removed, too.
	fieldOwner = "trueup-demo"
	// namespacePrefix begins the names of the namespaces of the stories.
	namespacePrefix = "trueup-demo-"
	// changeLimit bounds the time until an object is established or gone. Pods take half a minute to end.
	changeLimit = 3 * time.Minute
)

// A Cluster is a cluster that somebody else started.
type Cluster struct {
	dir        string
	kubeconfig string
	config     *rest.Config
	client     client.Client
	ensure     *ensure.Ensurer
	accounts   map[string]client.ObjectKey // the ServiceAccounts by the operators' names
	objects    []client.Object             // in the order of creation
}

// Open connects to the current context of a kubeconfig file, as an administrator. Call Close at the end.
func Open(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	config.QPS = -1
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", config.Host, err)
	}
	dir, err := os.MkdirTemp("", fieldOwner)
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for the operators' kubeconfigs: %w", err)
	}
	return &Cluster{
		dir: dir, kubeconfig: kubeconfig, config: config, client: c,
		ensure: ensure.New(c, c, fieldOwner), accounts: map[string]client.ObjectKey{},
	}, nil
}

// Close removes the folder of Dir.
func (c *Cluster) Close() error { return os.RemoveAll(c.dir) }

// Config returns the administrator's configuration, without a rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig returns the path of the kubeconfig file.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Dir returns the folder of the operators' kubeconfigs.
func (c *Cluster) Dir() string { return c.dir }

// ServiceAccount returns a configuration with only the rights of a ServiceAccount.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	return cluster.ServiceAccount(ctx, clients, rest.AnonymousClientConfig(c.config), namespace, name)
}

// Install creates the custom kinds, the ServiceAccounts and the roles of the operators called names, and returns when the
// API server serves the kinds. An object that exists and that no demo made is an error.
func (c *Cluster) Install(ctx context.Context, names ...string) error {
	for _, name := range names {
		objects, err := render(ctx, name)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if kindOf(object) == "ServiceAccount" {
				c.accounts[name] = client.ObjectKeyFromObject(object)
			}
			if err := c.create(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// Namespace creates a namespace and returns its name.
func (c *Cluster) Namespace(ctx context.Context) (string, error) {
	namespace := namespaceOf(namespacePrefix + rand.String(5))
	_, err := ensure.Object(ctx, c.ensure, namespace)
	return namespace.Name, err
}

// Operator builds an installed operator, which gets a token of its ServiceAccount.
func (c *Cluster) Operator(ctx context.Context, name string) (*operator.Operator, error) {
	o, err := operator.Build(ctx, c, name)
	if err != nil {
		return nil, err
	}
	account := c.accounts[name]
	return o, o.As(ctx, c, account.Namespace, account.Name)
}

// create returns when the object is ready.
func (c *Cluster) create(ctx context.Context, obj client.Object) error {
	c.objects = append(c.objects, obj) // also if the answer gets lost
	return await.Until(ctx, changeLimit, func(ctx context.Context) error {
		made, err := ensure.Object(ctx, c.ensure, obj)
		switch ready := made.Readiness(nil); {
		case errors.Is(err, ensure.ErrForeign):
			return await.Final(fmt.Errorf("%s exists already, and the demo did not make it: use another cluster, or delete it first",
				describe(obj)))
		case err != nil:
			return await.Final(err)
		case ready.State != readiness.Ready:
			return fmt.Errorf("%s is not ready: %s", describe(obj), ready.Message)
		}
		return nil
	})
}

// RemoveNamespaces deletes the namespaces of this demo and of those that were killed. The operators have to run, as the
// objects there have finalizers.
func (c *Cluster) RemoveNamespaces(ctx context.Context) error {
	var all corev1.NamespaceList
	if err := c.client.List(ctx, &all); err != nil {
		return fmt.Errorf("cannot list the demo's namespaces: %w", err)
	}
	for i := range all.Items {
		if !strings.HasPrefix(all.Items[i].Name, namespacePrefix) {
			continue
		}
		if err := c.remove(ctx, namespaceOf(all.Items[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

// Uninstall removes what Install created.
func (c *Cluster) Uninstall(ctx context.Context) error {
	for _, obj := range slices.Backward(c.objects) {
		if err := c.remove(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// remove returns when the object is gone, or if the demo did not make it.
func (c *Cluster) remove(ctx context.Context, obj client.Object) error {
	return await.Until(ctx, changeLimit, func(ctx context.Context) error {
		removed, err := ensure.Absent(ctx, c.ensure, obj)
		if err != nil {
			return fmt.Errorf("cannot delete %s, which the demo made: %w", describe(obj), err)
		}
		if removed.Operation == ensure.Deleting {
			return fmt.Errorf("%s, which the demo made, is still being deleted: look for finalizers", describe(obj))
		}
		return nil
	})
}

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}
