package once_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

var (
	templates = ensure.Once("spec.volumeClaimTemplates")
	anew      = ensure.Recreate(metav1.DeletePropagationBackground)
)

// database has claims of this size.
func (v *vault) database(size string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: "db"}}
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

func (v *vault) sizeOfClaims() string {
	v.t.Helper()
	live := &appsv1.StatefulSet{}
	require.NoError(v.t, v.person.Get(v.t.Context(), v.name("db"), live))
	return live.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()
}

// TestClaimTemplates: a StatefulSet keeps the claim templates of its creation.
func TestClaimTemplates(t *testing.T) {
	for name, show := range views {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				v := newVault(t, show)
				v.typed = typed
				v.mustPass(ensure.Created, v.form(v.database("1Gi")), templates)
				v.mustPass(ensure.Unchanged, v.form(v.database("2Gi")), templates)
				scaled := v.database("3Gi")
				scaled.Spec.Replicas = new(int32(1))
				v.mustPass(ensure.Updated, v.form(scaled), templates)
				scaled.Spec.Template.Spec.Containers[0].Image = "example.com/main:2"
				v.mustPass(ensure.Updated, v.form(scaled), templates)
				require.Equal(t, "1Gi", v.sizeOfClaims())
			})
		})
	}
}

// TestOnceAfterImmutable: the templates were applied until now, and then grew.
func TestOnceAfterImmutable(t *testing.T) {
	forms(t, func(t *testing.T, typed bool) {
		v := newVault(t, views["faithful"])
		v.typed = typed
		v.mustPass(ensure.Created, v.form(v.database("1Gi")))
		_, err := v.pass(v.form(v.database("2Gi")))
		require.ErrorIs(t, err, ensure.ErrImmutable)
		v.mustPass(ensure.Updated, v.form(v.database("2Gi")), templates)
		require.Equal(t, "1Gi", v.sizeOfClaims())
	})
}

// TestRecreateKeepsTheTemplates: a recreated object keeps the claim templates and the password of
// the deleted object.
func TestRecreateKeepsTheTemplates(t *testing.T) {
	for name, show := range views {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				v := newVault(t, show)
				v.typed = typed
				v.mustPass(ensure.Created, v.form(v.database("1Gi")), templates)
				moved := v.database("2Gi")
				moved.Spec.ServiceName = "elsewhere"
				v.mustPass(ensure.Recreated, v.form(moved), templates, anew)
				require.Equal(t, "1Gi", v.sizeOfClaims())
				v.mustPass(ensure.Unchanged, v.form(moved), templates, anew)
			})
		})
	}
}

// TestRecreateKeepsThePassword that a person has set, also if the old object is slow to go.
func TestRecreateKeepsThePassword(t *testing.T) {
	for name, show := range views {
		for _, slow := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, slow %v", name, slow), func(t *testing.T) {
				v := newVault(t, show)
				once := ensure.Once("data[password]", "data[cookie]", "data[token]")
				typed := func(user, kind string) client.Object {
					secret := v.secret(user).(*corev1.Secret)
					secret.Type = corev1.SecretType(kind)
					secret.Data["cookie"] = []byte("cookie of " + user)
					return secret
				}
				v.mustPass(ensure.Created, typed("app", "example.com/a"), once)
				v.rotate("theirs")
				v.patch(`{"data": {"cookie": null, "token": "dG9rZW4="}}`)
				if slow {
					v.patch(`{"metadata": {"finalizers": ["example.com/hold"]}}`)
					_, err := v.pass(typed("owner", "example.com/b"), once, anew)
					require.ErrorIs(t, err, ensure.ErrTerminating)
					v.patch(`{"metadata": {"finalizers": null}}`)
				}
				v.mustPass(ensure.Recreated, typed("owner", "example.com/b"), once, anew)
				require.Equal(t, map[string]string{
					"user": "owner", "password": "theirs", "token": "token", "cookie": "cookie of owner",
				}, v.data())
				v.mustPass(ensure.Unchanged, typed("owner", "example.com/b"), once, anew)
			})
		}
	}
}

// TestRecreateKeepsAPasswordToItsOwner: while a Secret is being replaced, another owner creates its
// own Secret of that name, or wants none.
func TestRecreateKeepsAPasswordToItsOwner(t *testing.T) {
	v := newVault(t, views["faithful"])
	mine, theirs := v.owner("mine"), v.owner("theirs")
	typed := func(kind string) client.Object {
		secret := v.secret("app").(*corev1.Secret)
		secret.Type = corev1.SecretType("example.com/" + kind)
		return secret
	}
	replace := func(kind string) {
		v.patch(`{"metadata": {"finalizers": ["example.com/hold"]}}`)
		_, err := v.pass(typed(kind), password, anew, mine)
		require.ErrorIs(t, err, ensure.ErrTerminating)
		v.patch(`{"metadata": {"finalizers": null}}`)
	}
	v.mustPass(ensure.Created, typed("a"), password, mine)
	first := v.generated[0]

	replace("b")
	gone, err := ensure.Absent(t.Context(), v.ensurer, typed("b"), theirs)
	require.NoError(t, err)
	require.Equal(t, ensure.Gone, gone.Operation)
	v.mustPass(ensure.Recreated, typed("b"), password, anew, mine)
	require.Equal(t, first, v.data()["password"], "another owner's Absent changes nothing")

	replace("c")
	v.mustPass(ensure.Created, typed("c"), password, anew, theirs)
	require.Equal(t, v.generated[len(v.generated)-1], v.data()["password"], "it has one of its own")
	_, err = v.pass(typed("c"), password, anew, mine)
	require.ErrorIs(t, err, ensure.ErrForeign)
}

// owner makes an owner.
func (v *vault) owner(name string) ensure.Option {
	v.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: name}}
	require.NoError(v.t, v.person.Create(v.t.Context(), owner))
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
				v := newVault(t, views["faithful"])
				v.typed = typed
				desired := v.web("example.com/main:1")
				created := v.mustPass(ensure.Created, v.form(desired), option)
				desired.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
				_, err := v.pass(v.form(desired), option, anew)
				require.ErrorIs(t, err, ensure.ErrInvalid)
				require.ErrorContains(t, err, "desired conflicts with spec.strategy.rollingUpdate")
				live := &appsv1.Deployment{}
				require.NoError(t, v.person.Get(t.Context(), v.name("web"), live))
				require.Equal(t, created.Live.GetUID(), live.UID)
				require.NotNil(t, live.Spec.Strategy.RollingUpdate)
				v.mustPass(ensure.Updated, v.form(desired))
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

	desired := func(v *vault, size int64, password string) *unstructured.Unstructured {
		user := map[string]any{"name": "root", "password": password}
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"size": size, "admin": user, "whole": user, "list": []any{user}, "keyed": []any{user},
		}}}
		obj.SetAPIVersion("once.example.com/v1")
		obj.SetKind("Realm")
		obj.SetNamespace(v.namespace)
		obj.SetName("realm")
		return obj.DeepCopy()
	}
	for path, refused := range map[string]bool{
		"spec.admin": false, "spec.admin.password": false,
		"spec.keyed": false, "spec.keyed[name=root]": false, "spec.keyed[name=root].password": false,
		"spec.list": false, "spec.list[name=root]": false, "spec.list[name=root].password": true,
		"spec.whole": false, "spec.whole.password": true,
	} {
		for name, show := range views {
			t.Run(path+", "+name, func(t *testing.T) {
				v := newVault(t, show)
				once := ensure.Once(path)
				created := v.mustPass(ensure.Created, desired(v, 1, "first"), once)
				v.mustPass(ensure.Unchanged, desired(v, 1, "first"), once)
				_, err := v.pass(desired(v, 2, "second"), once)
				if refused {
					require.ErrorIs(t, err, ensure.ErrRefused)
					require.ErrorContains(t, err, path)
				} else {
					require.NoError(t, err)
					_, err = v.pass(desired(v, 3, "third"), once)
					require.NoError(t, err)
				}
				live := desired(v, 0, "")
				require.NoError(t, v.person.Get(t.Context(), v.name("realm"), live))
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
			v := newVault(t, views["faithful"])
			v.typed = false
			desired := func(image string) client.Object {
				d := v.web(image)
				d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{
					ContainerPort: 80, Protocol: corev1.ProtocolTCP, Name: strings.ToLower(rand.Text()[:8]) + "a",
				}}
				return v.form(d)
			}
			created := v.mustPass(ensure.Created, desired("example.com/main:1"), ensure.Once(path))
			_, err := v.pass(desired("example.com/main:2"), ensure.Once(path))
			if refused {
				require.ErrorIs(t, err, ensure.ErrRefused)
				require.ErrorContains(t, err, "by all its keys")
			} else {
				require.NoError(t, err)
			}
			live := &appsv1.Deployment{}
			require.NoError(t, v.person.Get(t.Context(), v.name("web"), live))
			first := &appsv1.Deployment{}
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(created.Live.(*unstructured.Unstructured).Object, first))
			require.Equal(t, first.Spec.Template.Spec.Containers[0].Ports, live.Spec.Template.Spec.Containers[0].Ports)
		})
	}
}

// web is a Deployment without pods.
func (v *vault) web(image string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: "web"}}
	d.Spec.Replicas = new(int32(0))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	return d
}

// TestReleaseOfTheLastOne: as with Once, the server would remove a field without an owner together
// with the dropped fields around it, in the same apply or in a later one.
func TestReleaseOfTheLastOne(t *testing.T) {
	for name, show := range views {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, together %v", name, together), func(t *testing.T) {
				v := newVault(t, show)
				v.mustPass(ensure.Created, v.secret("app"))
				secret := v.secret("owner").(*corev1.Secret)
				delete(secret.Data, "password")
				if !together {
					v.mustPass(ensure.Updated, secret, ensure.Release("data[password]"))
				}
				secret.Data = nil
				v.mustPass(ensure.Updated, secret, ensure.Release("data[password]"))
				require.Equal(t, map[string]string{"password": v.generated[0]}, v.data())
			})
		}
	}
}
