package articles_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startOperator replaces the kubelet, which the cluster lacks: it runs the operator as its
// Deployment specifies, with the same arguments and variables and the rights of the ServiceAccount.
func startOperator(t *testing.T, r *reader) {
	t.Helper()
	deployment := r.manager(t)
	pod := deployment.Spec.Template.Spec
	require.NoError(t, r.operator.As(t.Context(), r.cluster, deployment.Namespace, pod.ServiceAccountName))
	manager := pod.Containers[0]
	for i := range manager.Env {
		value, err := r.value(t.Context(), deployment.Namespace, &manager.Env[i])
		require.NoError(t, err)
		r.operator.Env = append(r.operator.Env, manager.Env[i].Name+"="+value)
	}
	// Outside of a pod, the operator cannot determine its namespace, and the ports may be taken.
	args := slices.Concat(manager.Args, []string{"--leader-election-namespace", deployment.Namespace, "--metrics-bind-address=127.0.0.1:0"})
	for i, arg := range manager.Args {
		if strings.HasPrefix(arg, "--templates=") { // nothing mounts the ConfigMap
			args = append(args, "--templates-optional")
		}
		if arg == "--webhook-service" {
			args = append(args, "--webhook-bind-address=127.0.0.1:0")
			namespace, name, _ := strings.Cut(manager.Args[i+1], "/")
			require.NoError(t, r.cluster.LeadHere(t.Context(), namespace, name))
		}
	}
	process, err := r.operator.Start(t.Context(), args...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Kill() }) // as it ended is for endOperator to say
	r.process = process
}

// endOperator ends the operator as the kubelet does when the pod is deleted.
func endOperator(t *testing.T, r *reader) {
	t.Helper()
	if err := r.process.Kill(); err != nil {
		require.ErrorContains(t, err, "leader election lost", "its lease goes with the namespace, and before the pod")
	}
}

// manager is the Deployment that the reader has applied.
func (r *reader) manager(t *testing.T) *appsv1.Deployment {
	t.Helper()
	list, err := r.clients.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	return &list.Items[0]
}

// value returns the value of a variable in a pod of this namespace.
func (r *reader) value(ctx context.Context, namespace string, variable *corev1.EnvVar) (string, error) {
	switch from := variable.ValueFrom; {
	case from == nil:
		return variable.Value, nil
	case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
		return namespace, nil
	case from.SecretKeyRef != nil:
		secret, err := r.clients.CoreV1().Secrets(namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return string(secret.Data[from.SecretKeyRef.Key]), nil
	default:
		return "", fmt.Errorf("cannot tell the value of variable %s", variable.Name)
	}
}
