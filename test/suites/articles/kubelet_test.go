package articles_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// startOperator replaces the kubelet, which the cluster lacks: it runs the operator as its
// Deployment specifies, with the same arguments and variables and the rights of the ServiceAccount.
func startOperator(t *testing.T, r *reader) {
	t.Helper()
	deployment := r.manager(t)
	pod := deployment.Spec.Template.Spec
	require.NoError(t, r.operator.As(t.Context(), r.cluster, deployment.Namespace, pod.ServiceAccountName))
	manager := pod.Containers[0]
	mounted := r.mount(t, deployment.Namespace, &pod)
	for i := range manager.Env {
		value, err := r.value(t.Context(), deployment.Namespace, &manager.Env[i])
		require.NoError(t, err)
		r.operator.Env = append(r.operator.Env, manager.Env[i].Name+"="+mounted.Replace(value))
	}
	// Outside of a pod, the operator cannot determine its namespace, and the ports may be taken.
	args := slices.Concat(manager.Args, []string{"--leader-election-namespace", deployment.Namespace, "--metrics-bind-address=127.0.0.1:0"})
	for i, arg := range manager.Args {
		args[i] = mounted.Replace(arg)
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

// mount writes the Secrets and ConfigMaps that the first container mounts to folders, in the layout of a volume, and returns
// what replaces the paths of the mounts by those of the folders.
func (r *reader) mount(t *testing.T, namespace string, pod *corev1.PodSpec) *strings.Replacer {
	t.Helper()
	var replaced []string
	for _, mount := range pod.Containers[0].VolumeMounts {
		at := slices.IndexFunc(pod.Volumes, func(volume corev1.Volume) bool { return volume.Name == mount.Name })
		files, err := r.files(t.Context(), namespace, pod.Volumes[at])
		require.NoError(t, err)
		folder := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(folder, "..data"), 0o700))
		for name, content := range files {
			require.NoError(t, os.WriteFile(filepath.Join(folder, "..data", name), content, 0o600))
			require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)))
		}
		replaced = append(replaced, mount.MountPath, folder)
	}
	return strings.NewReplacer(replaced...)
}

// files returns the content of a volume by the names of its files.
func (r *reader) files(ctx context.Context, namespace string, volume corev1.Volume) (map[string][]byte, error) {
	switch {
	case volume.Secret != nil:
		secret, err := r.clients.CoreV1().Secrets(namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if ptr.Deref(volume.Secret.Optional, false) {
			err = client.IgnoreNotFound(err)
		}
		return secret.Data, err
	case volume.ConfigMap != nil:
		found, err := r.clients.CoreV1().ConfigMaps(namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
		if ptr.Deref(volume.ConfigMap.Optional, false) {
			err = client.IgnoreNotFound(err)
		}
		files := map[string][]byte{}
		for name, content := range found.Data {
			files[name] = []byte(content)
		}
		return files, err
	default:
		return nil, fmt.Errorf("cannot mount volume %s", volume.Name)
	}
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
