package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serverReady returns nil once the API server has finished its start.
func (c *Cluster) serverReady(ctx context.Context) error {
	return c.clients.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// createNodes creates the nodes that kwok will bring to life.
func (c *Cluster) createNodes(ctx context.Context) error {
	for i := range c.options.nodes {
		name := fmt.Sprintf("node-%d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		}}
		if _, err := c.clients.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("cannot create node %s: %w", name, err)
		}
	}
	return nil
}

// nodesReady returns nil once all nodes are ready and accept pods: their initial taint disappears a
// moment after they are ready.
func (c *Cluster) nodesReady(ctx context.Context) error {
	nodes, err := c.clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if !ready(node) {
			return fmt.Errorf("node %s is not ready", node.Name)
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s is tainted %s", node.Name, node.Spec.Taints[0].Key)
		}
	}
	return nil
}

func ready(node corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// namespaceReady returns a function that returns nil once the namespace has its default objects:
// the ServiceAccount default, without which no pod can be created there, and the ConfigMap of the
// cluster's authority, whose creation must not fall into a test's measurement.
func (c *Cluster) namespaceReady(namespace string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := c.clients.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := c.clients.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err
	}
}
