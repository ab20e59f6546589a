package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// atWork waits until a restarted component works.
func (c *Cluster) atWork(ctx context.Context, component Component) error {
	switch component {
	case Etcd:
		if err := c.until(ctx, "etcd", c.etcdReady); err != nil || c.isDown(APIServer) {
			return err
		}
		return c.until(ctx, "the API server", c.serverReady)
	case APIServer:
		return c.until(ctx, "the API server", c.serverReady)
	case ControllerManager:
		return c.controllersAtWork(ctx)
	case Kwok:
		return c.nodesAtWork(ctx)
	case StorageDriver:
		return c.driverAtWork(ctx)
	case Provisioner:
		return c.provisionerAtWork(ctx)
	case Resizer:
		return c.resizerAtWork(ctx)
	default:
		return c.podTouched(ctx, component, "")
	}
}

// etcdReady returns nil once etcd answers with current data.
func (c *Cluster) etcdReady(ctx context.Context) error {
	transport, closeTransport, err := c.etcdTransport()
	if err != nil {
		return err
	}
	defer closeTransport()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://etcd/health", http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// probe names an object that a component is to deal with, and that no webhook of
// this package is asked about.
func probe(component Component) metav1.ObjectMeta {
	return metav1.ObjectMeta{GenerateName: "probe-", Labels: map[string]string{probeLabel: string(component)}}
}

// controllersAtWork waits until a new namespace gets its default objects.
func (c *Cluster) controllersAtWork(ctx context.Context) error {
	namespaces := c.clients.CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: probe(ControllerManager)}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot create a namespace: %w", err)
	}
	err = c.until(ctx, "what is in each namespace", c.namespaceReady(created.Name))
	return errors.Join(err, namespaces.Delete(context.WithoutCancel(ctx), created.Name, metav1.DeleteOptions{}))
}

// nodesAtWork waits until a node takes a pod.
func (c *Cluster) nodesAtWork(ctx context.Context) error {
	nodes, err := c.clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("cannot list nodes: %w", err)
	}
	if len(nodes.Items) == 0 {
		return nil
	}
	return c.podTouched(ctx, Kwok, nodes.Items[0].Name)
}

// podTouched waits until the component has written to a new pod, with or without a node. The
// content of the write does not matter: all nodes may be full, and stages may hold the pod.
func (c *Cluster) podTouched(ctx context.Context, component Component, node string) error {
	pods := c.clients.CoreV1().Pods(metav1.NamespaceDefault)
	created, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: probe(component),
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "probe", Image: "example.org/probe:1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot create a pod: %w", err)
	}
	err = c.until(ctx, "a pod", func(ctx context.Context) error {
		live, err := pods.Get(ctx, created.Name, metav1.GetOptions{})
		if err == nil && live.ResourceVersion == created.ResourceVersion {
			return errors.New("nobody has written to it yet")
		}
		return err
	})
	atOnce := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	return errors.Join(err, pods.Delete(context.WithoutCancel(ctx), created.Name, atOnce))
}
