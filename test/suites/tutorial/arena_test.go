package tutorial_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/hello/api/v1"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

const (
	// limit bounds waits that usually take a second or two.
	limit = 2 * time.Minute
	// count is the number of Hellos in a trial.
	count = 10
	// marker is the name of one more Hello, see settle.
	marker = "marker"
	// grace is how long a trial waits for an effect that may not come.
	grace = 5 * time.Second
)

// An arena is the cluster of the tutorial, with a client who may do everything.
type arena struct {
	*cluster.Cluster
	admin client.Client
}

func newArena(t *testing.T) *arena {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.WithKubectl())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)))
	config := c.Config()
	config.UserAgent = "somebody"
	admin, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return &arena{Cluster: c, admin: admin}
}

// A trial is an operator at work on the Hellos of a namespace.
type trial struct {
	*arena
	operator  *operator.Operator
	process   *operator.Process
	user      string
	namespace string
}

// try starts an operator with the rights of a new ServiceAccount, to which the role of the folder config/rbac is
// bound, or that of an administrator if rbac is empty. When the test ends, the operator has deleted its Hellos
// and is stopped.
func (a *arena) try(t *testing.T, program, rbac string) *trial {
	t.Helper()
	namespace := a.Namespace(t)
	config, err := a.ServiceAccount(t.Context(), namespace, "manager")
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(kubeconfig, config))
	a.bind(t, namespace, rbac)
	x := &trial{
		arena: a, operator: operator.Of(program, kubeconfig), namespace: namespace,
		user: "system:serviceaccount:" + namespace + ":manager",
	}
	x.start(t)
	t.Cleanup(func() {
		ctx := context.Background() // the test's own context has ended by now
		require.NoError(t, a.admin.DeleteAllOf(ctx, &v1.Hello{}, client.InNamespace(namespace)))
		require.NoError(t, await.Until(ctx, limit, func(ctx context.Context) error {
			hellos := &v1.HelloList{}
			err := a.admin.List(ctx, hellos, client.InNamespace(namespace))
			return errors.Join(err, expect(len(hellos.Items) == 0, "Hellos remain"))
		}))
		require.NoError(t, x.process.Stop())
	})
	return x
}

// start runs the operator.
func (x *trial) start(t *testing.T) {
	t.Helper()
	process, err := x.operator.Start(t.Context(), "--metrics-bind-address=0", "--zap-devel=false")
	require.NoError(t, err)
	x.process = process
}

// bind gives the ServiceAccount manager of the namespace its rights.
func (a *arena) bind(t *testing.T, namespace, rbac string) {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "manager"}}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "manager-role"}
	if rbac == "" {
		role.Name = "cluster-admin"
	} else {
		kubectl(t, a, "apply", "-f", filepath.Join(rbac, "role.yaml"))
	}
	name := metav1.ObjectMeta{Name: "manager-" + namespace}
	require.NoError(t, a.admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: name, RoleRef: role, Subjects: subjects}))
	name.Namespace, role.Kind = "kube-public", "Role" // step 6 has such a role
	require.NoError(t, a.admin.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: name, RoleRef: role, Subjects: subjects}))
}

func kubectl(t *testing.T, a *arena, args ...string) {
	t.Helper()
	program, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	printed, err := exec.CommandContext(t.Context(), program, append([]string{"--kubeconfig", a.Kubeconfig()}, args...)...).CombinedOutput()
	require.NoError(t, err, "kubectl %s\n%s", strings.Join(args, " "), printed)
}

// names are the names of the Hellos of a trial, without the marker.
func names() []string {
	all := make([]string, count)
	for i := range all {
		all[i] = "hello-" + strconv.Itoa(i)
	}
	return all
}

// create creates the Hellos and the marker.
func (x *trial) create(t *testing.T) {
	t.Helper()
	for _, name := range append(names(), marker) {
		require.NoError(t, x.admin.Create(t.Context(), x.hello(name)))
	}
}

func (x *trial) hello(name string) *v1.Hello {
	return &v1.Hello{ObjectMeta: x.object(name), Spec: v1.HelloSpec{Message: "Hello, world!"}}
}

func (x *trial) object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: x.namespace, Name: name}
}

// patch changes an object as a person does.
func (x *trial) patch(t *testing.T, obj client.Object, patch string) {
	t.Helper()
	kind := types.MergePatchType
	if patch[0] == '[' {
		kind = types.JSONPatchType
	}
	require.NoError(t, x.admin.Patch(t.Context(), obj, client.RawPatch(kind, []byte(patch))))
}

// read returns an object of the namespace.
func read[T client.Object](ctx context.Context, x *trial, name string, obj T) (T, error) {
	return obj, x.admin.Get(ctx, client.ObjectKey{Namespace: x.namespace, Name: name}, obj)
}

// mustRead is read in a test.
func mustRead[T client.Object](t *testing.T, x *trial, name string, obj T) T {
	t.Helper()
	obj, err := read(t.Context(), x, name, obj)
	require.NoError(t, err)
	return obj
}

// eventually waits until check returns nil for each Hello.
func (x *trial) eventually(t *testing.T, check func(ctx context.Context, name string) error) {
	t.Helper()
	for _, name := range names() {
		require.NoError(t, x.Await(t.Context(), limit, x.namespace, func(ctx context.Context) error { return check(ctx, name) }),
			"%s; the operator's log:\n%s", name, x.process.Log())
	}
}

// settle waits until the operator has handled all earlier events about objects of the kind of obj, with which
// it reads: it deletes the marker's object and waits for another one. The events of a kind arrive in order,
// and the operator reconciles one Hello after another.
func (x *trial) settle(t *testing.T, obj client.Object) {
	t.Helper()
	require.NoError(t, x.Await(t.Context(), limit, x.namespace, func(ctx context.Context) error {
		_, err := read(ctx, x, marker, obj)
		return err
	}))
	deleted := obj.GetUID()
	require.NoError(t, x.admin.Delete(t.Context(), obj))
	require.NoError(t, x.Await(t.Context(), limit, x.namespace, func(ctx context.Context) error {
		_, err := read(ctx, x, marker, obj)
		return errors.Join(err, expect(obj.GetUID() != deleted, "the marker's object is not created again"))
	}))
}

// awaitPods waits until the Deployment's controller reports that all pods are ready.
func (x *trial) awaitPods(t *testing.T) {
	t.Helper()
	x.eventually(t, func(ctx context.Context, name string) error {
		deployment, err := read(ctx, x, name, &appsv1.Deployment{})
		observed := deployment.Status.ObservedGeneration == deployment.Generation
		return errors.Join(err, expect(observed && deployment.Status.ReadyReplicas == 1 && deployment.Status.UpdatedReplicas == 1, "no ready pods"))
	})
}

// ready returns the number of Hellos whose condition Ready is True, as soon as there are as many as wanted, or
// after a while.
func (x *trial) ready(t *testing.T, want int) int {
	t.Helper()
	found := 0
	_ = await.Until(t.Context(), grace, func(ctx context.Context) error {
		ready := 0
		for _, name := range names() {
			hello, err := read(ctx, x, name, &v1.Hello{})
			if err != nil {
				return err
			}
			if meta.IsStatusConditionTrue(hello.Status.Conditions, "Ready") {
				ready++
			}
		}
		found = ready
		return expect(found == want, "other conditions")
	})
	return found
}

// isReady is for eventually.
func (x *trial) isReady(ctx context.Context, name string) error {
	hello, err := read(ctx, x, name, &v1.Hello{})
	return errors.Join(err, expect(meta.IsStatusConditionTrue(hello.Status.Conditions, "Ready"), "not ready"))
}

// isListed is for eventually.
func (x *trial) isListed(ctx context.Context, name string) error {
	greeting := &corev1.ConfigMap{}
	return x.admin.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: x.namespace + "." + name}, greeting)
}

// isGone is for eventually.
func (x *trial) isGone(ctx context.Context, name string) error {
	err := x.isListed(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(err, expect(false, "still listed"))
}

// expect returns an error with the text unless ok.
func expect(ok bool, text string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("expected otherwise: %s", text)
}
