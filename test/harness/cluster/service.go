package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LeadHere has a Service lead to this machine, since the pods of the cluster run nothing. The API server then
// reaches the webhooks of the Service at 127.0.0.1, on the port that their configuration names.
func (c *Cluster) LeadHere(ctx context.Context, namespace, service string) error {
	patch := []byte(`{"spec":{"type":"ExternalName","externalName":"localhost","clusterIP":"","clusterIPs":null}}`)
	_, err := c.clients.CoreV1().Services(namespace).Patch(ctx, service, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("cannot have Service %s/%s lead to this machine: %w", namespace, service, err)
	}
	return nil
}
