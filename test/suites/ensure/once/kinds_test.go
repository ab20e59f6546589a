package once_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

var (
	templates = ensure.Once("spec.volumeClaimTemplates")
	recreate  = ensure.Recreate(metav1.DeletePropagationBackground)
)

// database has claims of this size.
func (f *fixture) database(size string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "db"}}
	set.Spec.Replicas = new(int32(0))
	set.Spec.ServiceName = "db"
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "example.com/main:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
	}}
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	return set
}

func (f *fixture) sizeOfClaims() string {
	f.t.Helper()
	live := &appsv1.StatefulSet{}
	require.NoError(f.t, f.admin.Get(f.t.Context(), f.key("db"), live))
	return live.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()
}

// TestClaimTemplates: a StatefulSet keeps the claim templates of its creation.
func TestClaimTemplates(t *testing.T) {
	for name, show := range cacheViews {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				f := newFixture(t, show)
				f.typed = typed
				f.mustEnsure(ensure.Created, f.form(f.database("1Gi")), templates)
				f.mustEnsure(ensure.Unchanged, f.form(f.database("2Gi")), templates)
				scaled := f.database("3Gi")
				scaled.Spec.Replicas = new(int32(1))
				f.mustEnsure(ensure.Updated, f.form(scaled), templates)
				scaled.Spec.Template.Spec.Containers[0].Image = "example.com/main:2"
				f.mustEnsure(ensure.Updated, f.form(scaled), templates)
				require.Equal(t, "1Gi", f.sizeOfClaims())
			})
		})
	}
}

// TestOnceAfterImmutable: the templates were applied until now, and then grew.
func TestOnceAfterImmutable(t *testing.T) {
	forms(t, func(t *testing.T, typed bool) {
		f := newFixture(t, cacheViews["faithful"])
		f.typed = typed
		f.mustEnsure(ensure.Created, f.form(f.database("1Gi")))
		_, err := f.ensure(f.form(f.database("2Gi")))
		require.ErrorIs(t, err, ensure.ErrImmutable)
		f.mustEnsure(ensure.Updated, f.form(f.database("2Gi")), templates)
		require.Equal(t, "1Gi", f.sizeOfClaims())
	})
}

// TestRecreateKeepsTheTemplates: a recreated object keeps the claim templates and the password of
// the deleted object.
func TestRecreateKeepsTheTemplates(t *testing.T) {
	for name, show := range cacheViews {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				f := newFixture(t, show)
				f.typed = typed
				f.mustEnsure(ensure.Created, f.form(f.database("1Gi")), templates)
				moved := f.database("2Gi")
				moved.Spec.ServiceName = "elsewhere"
				f.mustEnsure(ensure.Recreated, f.form(moved), templates, recreate)
				require.Equal(t, "1Gi", f.sizeOfClaims())
				f.mustEnsure(ensure.Unchanged, f.form(moved), templates, recreate)
			})
		})
	}
}

// TestRecreateKeepsThePassword that a user has set, also if the old object is slow to go.
func TestRecreateKeepsThePassword(t *testing.T) {
	for name, show := range cacheViews {
		for _, slow := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, slow %v", name, slow), func(t *testing.T) {
				f, clock := newFixture(t, show), clocktesting.NewFakePassiveClock(time.Now())
				f.ensurer = ensure.New(f.client, f.client.Client, fieldOwner, testclock.With[ensure.Setting](clock))
				once := ensure.Once("data[password]", "data[cookie]", "data[token]")
				typed := func(user, kind string) client.Object {
					secret := f.secret(user).(*corev1.Secret)
					secret.Type = corev1.SecretType(kind)
					secret.Data["cookie"] = []byte("cookie of " + user)
					return secret
				}
				f.mustEnsure(ensure.Created, typed("app", "example.com/a"), once)
				f.rotate("theirs")
				f.patch(`{"data": {"cookie": null, "token": "dG9rZW4="}}`)
				if slow {
					f.patch(`{"metadata": {"finalizers": ["example.com/hold"]}}`)
					_, err := f.ensure(typed("owner", "example.com/b"), once, recreate)
					require.ErrorIs(t, err, ensure.ErrTerminating)
					f.patch(`{"metadata": {"finalizers": null}}`)
					clock.SetTime(clock.Now().Add(time.Minute)) // a cache that shows nothing does not show that it is gone
				}
				f.mustEnsure(ensure.Recreated, typed("owner", "example.com/b"), once, recreate)
				require.Equal(t, map[string]string{
					"user": "owner", "password": "theirs", "token": "token", "cookie": "cookie of owner",
				}, f.data())
				f.mustEnsure(ensure.Unchanged, typed("owner", "example.com/b"), once, recreate)
			})
		}
	}
}

// TestRecreateKeepsAPasswordToItsOwner: while a Secret is being replaced, another owner creates its
// own Secret of that name, or wants none.
func TestRecreateKeepsAPasswordToItsOwner(t *testing.T) {
	f := newFixture(t, cacheViews["faithful"])
	mine, theirs := f.owner("mine"), f.owner("theirs")
	typed := func(kind string) client.Object {
		secret := f.secret("app").(*corev1.Secret)
		secret.Type = corev1.SecretType("example.com/" + kind)
		return secret
	}
	replace := func(kind string) {
		f.patch(`{"metadata": {"finalizers": ["example.com/hold"]}}`)
		_, err := f.ensure(typed(kind), password, recreate, mine)
		require.ErrorIs(t, err, ensure.ErrTerminating)
		f.patch(`{"metadata": {"finalizers": null}}`)
	}
	f.mustEnsure(ensure.Created, typed("a"), password, mine)
	first := f.generated[0]

	replace("b")
	gone, err := ensure.Absent(t.Context(), f.ensurer, typed("b"), theirs)
	require.NoError(t, err)
	require.Equal(t, ensure.Gone, gone.Operation)
	f.mustEnsure(ensure.Recreated, typed("b"), password, recreate, mine)
	require.Equal(t, first, f.data()["password"], "another owner's Absent changes nothing")

	replace("c")
	f.mustEnsure(ensure.Created, typed("c"), password, recreate, theirs)
	require.Equal(t, f.generated[len(f.generated)-1], f.data()["password"], "it has one of its own")
	_, err = f.ensure(typed("c"), password, recreate, mine)
	require.ErrorIs(t, err, ensure.ErrForeign)
}

// owner makes an owner.
func (f *fixture) owner(name string) interface {
	ensure.Option
	ensure.AbsentOption
} {
	f.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	require.NoError(f.t, f.admin.Create(f.t.Context(), owner))
	return ensure.ControlledBy(owner)
}

// TestRepairLeavesItAlone: a default stands in the way, and is named by Once. Nothing is removed,
// and nothing deleted.
func TestRepairLeavesItAlone(t *testing.T) {
	for name, option := range map[string]ensure.Option{
		"once":     ensure.Once("spec.strategy.rollingUpdate"),
		"released": ensure.Release("spec.strategy.rollingUpdate"),
	} {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				f := newFixture(t, cacheViews["faithful"])
				f.typed = typed
				desired := f.web("example.com/main:1")
				created := f.mustEnsure(ensure.Created, f.form(desired), option)
				desired.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
				_, err := f.ensure(f.form(desired), option, recreate)
				require.ErrorIs(t, err, ensure.ErrInvalid)
				require.ErrorContains(t, err, "desired conflicts with spec.strategy.rollingUpdate")
				live := &appsv1.Deployment{}
				require.NoError(t, f.admin.Get(t.Context(), f.key("web"), live))
				require.Equal(t, created.Live.GetUID(), live.UID)
				require.NotNil(t, live.Spec.Strategy.RollingUpdate)
				f.mustEnsure(ensure.Updated, f.form(desired))
			})
		})
	}
}

const realm = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: realms.once.example.com}
spec:
  group: once.example.com
  names: {kind: Realm, listKind: RealmList, plural: realms, singular: realm}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              admin:
                type: object
                properties: {name: {type: string}, password: {type: string}}
              whole:
                type: object
                x-kubernetes-map-type: atomic
                properties: {name: {type: string}, password: {type: string}}
              list:
                type: array
                items: {type: object, properties: {name: {type: string}, password: {type: string}}}
              keyed:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, password: {type: string}}}
`

// TestCustomKinds, whose lists may be written as a whole: part of one cannot stay. That is found
// before anything is lost.
func TestCustomKinds(t *testing.T) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal([]byte(realm), definition))
	known := *scheme.Scheme
	require.NoError(t, apiextensionsv1.AddToScheme(&known))
	c, err := client.New(shared.Config(), client.Options{Scheme: &known})
	require.NoError(t, err)
	require.NoError(t, cluster.Define(t.Context(), c, definition))

	desired := func(f *fixture, size int64, password string) *unstructured.Unstructured {
		user := map[string]any{"name": "root", "password": password}
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"size": size, "admin": user, "whole": user, "list": []any{user}, "keyed": []any{user},
		}}}
		obj.SetAPIVersion("once.example.com/v1")
		obj.SetKind("Realm")
		obj.SetNamespace(f.namespace)
		obj.SetName("realm")
		return obj.DeepCopy()
	}
	for path, refused := range map[string]bool{
		"spec.admin": false, "spec.admin.password": false,
		"spec.keyed": false, "spec.keyed[name=root]": false, "spec.keyed[name=root].password": false,
		"spec.list": false, "spec.list[name=root]": true, "spec.list[name=root].password": true,
		"spec.whole": false, "spec.whole.password": true,
	} {
		for name, show := range cacheViews {
			t.Run(path+", "+name, func(t *testing.T) {
				f := newFixture(t, show)
				once := ensure.Once(path)
				created := f.mustEnsure(ensure.Created, desired(f, 1, "first"), once)
				f.mustEnsure(ensure.Unchanged, desired(f, 1, "first"), once)
				_, err := f.ensure(desired(f, 2, "second"), once)
				if refused {
					require.ErrorIs(t, err, ensure.ErrRefused)
					require.ErrorContains(t, err, path)
				} else {
					require.NoError(t, err)
					_, err = f.ensure(desired(f, 3, "third"), once)
					require.NoError(t, err)
				}
				live := desired(f, 0, "")
				require.NoError(t, f.admin.Get(t.Context(), f.key("realm"), live))
				steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' })
				parent := live.Object["spec"].(map[string]any)[steps[1]]
				if list, ok := parent.([]any); ok {
					require.Len(t, list, 1)
					parent = list[0]
				}
				require.Equal(t, map[string]any{"name": "root", "password": "first"}, parent)
				require.Equal(t, created.Live.GetUID(), live.GetUID())
			})
		}
	}
}

// TestHalfAKey leads to no item that the server knows, in an unstructured object.
func TestHalfAKey(t *testing.T) {
	const port = "spec.template.spec.containers[name=main].ports"
	for path, refused := range map[string]bool{
		port + "[containerPort=80,protocol=TCP].name": false,
		port + "[containerPort=80].name":              true,
	} {
		t.Run(path, func(t *testing.T) {
			f := newFixture(t, cacheViews["faithful"])
			f.typed = false
			desired := func(image string) client.Object {
				d := f.web(image)
				d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{
					ContainerPort: 80, Protocol: corev1.ProtocolTCP, Name: strings.ToLower(rand.Text()[:8]) + "a",
				}}
				return f.form(d)
			}
			created := f.mustEnsure(ensure.Created, desired("example.com/main:1"), ensure.Once(path))
			_, err := f.ensure(desired("example.com/main:2"), ensure.Once(path))
			if refused {
				require.ErrorIs(t, err, ensure.ErrRefused)
				require.ErrorContains(t, err, "by all its keys")
			} else {
				require.NoError(t, err)
			}
			live := &appsv1.Deployment{}
			require.NoError(t, f.admin.Get(t.Context(), f.key("web"), live))
			first := &appsv1.Deployment{}
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(created.Live.(*unstructured.Unstructured).Object, first))
			require.Equal(t, first.Spec.Template.Spec.Containers[0].Ports, live.Spec.Template.Spec.Containers[0].Ports)
		})
	}
}

// web is a Deployment without pods.
func (f *fixture) web(image string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "web"}}
	d.Spec.Replicas = new(int32(0))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	return d
}

// TestReleaseOfTheLastOne: as with Once, the server would remove a field without an owner together
// with the dropped fields around it, in the same apply or in a later one.
func TestReleaseOfTheLastOne(t *testing.T) {
	for name, show := range cacheViews {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, together %v", name, together), func(t *testing.T) {
				f := newFixture(t, show)
				f.mustEnsure(ensure.Created, f.secret("app"))
				secret := f.secret("owner").(*corev1.Secret)
				delete(secret.Data, "password")
				if !together {
					f.mustEnsure(ensure.Updated, secret, ensure.Release("data[password]"))
				}
				secret.Data = nil
				f.mustEnsure(ensure.Updated, secret, ensure.Release("data[password]"))
				require.Equal(t, map[string]string{"password": f.generated[0]}, f.data())
			})
		}
	}
}
