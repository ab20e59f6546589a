package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

const (
	refusesImmutable = "immutable fields are told and left alone"
	recreates        = "where it is allowed, a child is made anew for an immutable field's sake"
)

// An immutable is a field that no update can change.
type immutable struct {
	field string
	kindCase
	change func(client.Object)
	paths  []string // that the API server refuses
}

// immutableRequests bounds the requests: an apply, trials without the fields that a controller has set, a dry run that shows
// the fields without an owner, and one of a new object.
const immutableRequests = 7

// TestImmutable: a change of an immutable field is an error that names the field, leaves the object
// unchanged, and does not block permitted changes. With Recreate, the object is recreated.
func TestImmutable(t *testing.T) {
	t.Parallel()
	haveFleets(t)
	inModes(t, some(t, immutables()), immutable.title, inTurn, func(t *testing.T, a access, tc immutable) {
		f := newFixture(t, a, tc.kindCase)
		if tc.rename != nil { // the dry runs of others could not be told from our own
			lock := f.lock("life")
			lock.Lock()
			defer lock.Unlock()
		}
		f.refuses(tc)
		f.isRecreated(tc)
	})
}

func (tc immutable) title() string { return tc.kindCase.name + " " + tc.field }

func (f *fixture) refuses(tc immutable) {
	f.t.Helper()
	f.createIsOneRequest()
	before := f.live()
	possible := f.desired
	f.desired = func() client.Object {
		obj := possible()
		tc.change(obj)
		return obj
	}
	for range 2 {
		mark := shared.Mark()
		_, err := f.ensure()
		require.ErrorIs(f.t, err, ensure.ErrImmutable)
		var e *ensure.Error
		require.ErrorAs(f.t, err, &e)
		require.Subset(f.t, e.Paths, tc.paths)
		requests := f.requests(mark)
		require.LessOrEqual(f.t, writes(requests), immutableRequests, "the server saw %v", requests)
		f.requireUnmoved(before, "after a refusal")
		f.restart()
	}
	f.desired = possible
	f.restartWritesNothing()
	f.desired = func() client.Object {
		obj := possible()
		obj.SetLabels(with(obj.GetLabels(), ours, "changed"))
		return obj
	}
	res, requests := f.pass()
	f.requireOperation(res, ensure.Updated, ensure.DesiredChanged, "a change that can be made")
	f.requireWrites(requests, 1)
	f.requireFiveFreePasses("after a change that can be made")
	f.noteShown(refusesImmutable)
}

// isRecreated: at once, or in a later pass if finalizers or a grace period hold the old one.
func (f *fixture) isRecreated(tc immutable) {
	f.t.Helper()
	before := f.live()
	possible := f.desired
	f.desired = func() client.Object {
		obj := possible()
		tc.change(obj)
		return obj
	}
	var res ensure.Result[client.Object]
	f.await("the old object to be gone", func() bool {
		var err error
		desired := f.desired()
		res, err = ensure.Object(f.ctx, f.ensurer, desired, ensure.ControlledBy(f.owner),
			ensure.Recreate(metav1.DeletePropagationBackground, ensure.DeleteData))
		if err != nil {
			require.ErrorIs(f.t, err, ensure.ErrTerminating)
		}
		return err == nil
	})
	f.requireOperation(res, ensure.Recreated, ensure.DesiredChanged, "a change that needs a new object")
	require.Subset(f.t, pathsOf(res.Changes), tc.paths)
	require.NotEqual(f.t, before.GetUID(), res.Live.GetUID())
	require.Equal(f.t, f.live().GetUID(), res.Live.GetUID())
	f.requireFiveFreePasses("after it was made anew")
	f.restart()
	f.requireFiveFreePasses("after it was made anew, by another process")
	f.noteShown(recreates)
}

func pathsOf(changes []ensure.Change) []string {
	var paths []string
	for _, change := range changes {
		paths = append(paths, change.Path)
	}
	return paths
}

func immutables() []immutable {
	all := append(immutableWorkloads(), immutableConfiguration()...)
	return append(all, immutableStorage()...)
}

func immutableWorkloads() []immutable {
	selected := []string{"spec.selector.matchLabels[tier]"} // the labels of the template could change
	tier := func(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) {
		selector.MatchLabels["tier"], template.Labels["tier"] = "web", "web"
	}
	image := []string{"spec.template.spec.containers[name=main].image"}
	return []immutable{
		{"selector", idle(deployment()), then(func(d *appsv1.Deployment) { tier(d.Spec.Selector, &d.Spec.Template) }), selected},
		{"a selector key less", idle(tiered(deployment())), then(func(d *appsv1.Deployment) {
			delete(d.Spec.Selector.MatchLabels, "tier")
		}), []string{"spec.selector"}},
		{"selector", idle(daemonSet()), then(func(d *appsv1.DaemonSet) { tier(d.Spec.Selector, &d.Spec.Template) }), selected},
		{"selector", idle(statefulSet()), then(func(s *appsv1.StatefulSet) { tier(s.Spec.Selector, &s.Spec.Template) }), selected},
		{"selector", idle(replicaSet()), then(func(r *appsv1.ReplicaSet) {
			r.Spec.Selector.MatchExpressions[0].Values = []string{"replicas", "other"}
		}), []string{"spec.selector.matchExpressions[0].values[1]"}},
		{"serviceName", idle(statefulSet()), then(func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" }), []string{"spec.serviceName"}},
		{"podManagementPolicy", idle(statefulSet()), then(func(s *appsv1.StatefulSet) {
			s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}), []string{"spec.podManagementPolicy"}},
		{"volumeClaimTemplates", idle(statefulSet()), then(func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		}), []string{"spec.volumeClaimTemplates[0].spec.resources.requests[storage]"}},
		{"template", job(), then(func(j *batchv1.Job) { mainOf(&j.Spec.Template).Image = "other" }), image},
		{"completionMode", job(), then(func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(2))
		}), []string{"spec.completionMode", "spec.completions"}},
		{"completions", job(), then(func(j *batchv1.Job) { j.Spec.Completions = new(int32(5)) }), []string{"spec.completions"}},
		{
			"environment", pod(), then(func(p *corev1.Pod) { p.Spec.Containers[0].Env[1].Value = "other" }),
			[]string{"spec.containers[name=main].env[name=GREETING].value"},
		},
		{"a container more", pod(), then(func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more", Image: "example.com/more:1"})
		}), []string{"spec.containers[name=more]"}},
		{"class", fleet(), then(func(u *unstructured.Unstructured) { set(u, "big", "spec", "class") }), []string{"spec.class"}},
	}
}

func immutableConfiguration() []immutable {
	frozen := func(k kindCase) kindCase {
		desired := k.desired
		k.desired = func() client.Object {
			obj := desired()
			switch o := obj.(type) {
			case *corev1.ConfigMap:
				o.Immutable = new(true)
			case *corev1.Secret:
				o.Immutable = new(true)
			}
			return obj
		}
		return k
	}
	scoped := resourceQuota()
	scoped.desired = func() client.Object {
		obj := resourceQuota().desired().(*corev1.ResourceQuota)
		obj.Spec = corev1.ResourceQuotaSpec{
			Hard:   corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")},
			Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating},
		}
		return obj
	}
	return []immutable{
		{"data", frozen(configMap()), then(func(c *corev1.ConfigMap) { c.Data["crlf"] = "other" }), []string{"data[crlf]"}},
		{"a key more", frozen(configMap()), then(func(c *corev1.ConfigMap) { c.Data["more"] = "" }), []string{"data[more]"}},
		{"immutable", frozen(configMap()), then(func(c *corev1.ConfigMap) { c.Immutable = new(false) }), []string{"immutable"}},
		{"data", frozen(secret()), then(func(s *corev1.Secret) { s.Data["password"] = []byte("other") }), []string{"data[password]"}},
		{"type", secret(), then(func(s *corev1.Secret) { s.Type = "example.com/other" }), []string{"type"}},
		{"scopes", scoped, then(func(r *corev1.ResourceQuota) {
			r.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
		}), []string{"spec.scopes[0]"}},
		{"clusterIP", clusterIPService(), then(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }), []string{"spec.clusterIP"}},
		{"addressType", endpointSlice(), then(func(e *discoveryv1.EndpointSlice) {
			e.AddressType = discoveryv1.AddressTypeIPv6
			e.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"2001:db8::1"}}}
		}), []string{"addressType"}},
		{"roleRef", roleBinding(), then(func(r *rbacv1.RoleBinding) { r.RoleRef.Name = "edit" }), []string{"roleRef.name"}},
		{"roleRef", clusterRoleBinding(), then(func(r *rbacv1.ClusterRoleBinding) { r.RoleRef.Name = "other" }), []string{"roleRef.name"}},
		{
			"controller", ingressClass(), then(func(i *networkingv1.IngressClass) { i.Spec.Controller = "example.com/other" }),
			[]string{"spec.controller"},
		},
		{"value", priorityClass(), then(func(p *schedulingv1.PriorityClass) { p.Value = 7 }), []string{"value"}},
		{"preemptionPolicy", priorityClass(), then(func(p *schedulingv1.PriorityClass) {
			p.PreemptionPolicy = new(corev1.PreemptNever)
		}), []string{"preemptionPolicy"}},
		{"handler", runtimeClass(), then(func(r *nodev1.RuntimeClass) { r.Handler = "other" }), []string{"handler"}},
		{"scope", customResourceDefinition(), then(func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Scope = apiextensionsv1.ClusterScoped
		}), []string{"spec.scope"}},
	}
}

func immutableStorage() []immutable {
	ofClass := func(k kindCase) kindCase {
		desired := k.desired
		k.desired = func() client.Object {
			obj := desired().(*corev1.PersistentVolumeClaim)
			obj.Spec.StorageClassName = new("by-hand")
			return obj
		}
		return k
	}
	return []immutable{
		{"class", ofClass(claim()), then(func(p *corev1.PersistentVolumeClaim) { p.Spec.StorageClassName = new("other") }), []string{"spec.storageClassName"}},
		{"a smaller size", claim(), then(func(p *corev1.PersistentVolumeClaim) {
			p.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
		}), []string{"spec.resources.requests[storage]"}},
		{"access modes", claim(), then(func(p *corev1.PersistentVolumeClaim) {
			p.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		}), []string{"spec.accessModes[0]"}},
		{"source", volume(), then(func(v *corev1.PersistentVolume) { v.Spec.NFS.Path = "/other" }), []string{"spec.nfs.path"}},
		{"another kind of source", volume(), then(func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/export"}}
		}), []string{"spec.hostPath"}},
		{
			"mode", volume(), then(func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }),
			[]string{"spec.volumeMode"},
		},
		{"provisioner", storageClass(), then(func(s *storagev1.StorageClass) { s.Provisioner = "other.example.com" }), []string{"provisioner"}},
		{"parameters", storageClass(), then(func(s *storagev1.StorageClass) { s.Parameters["iops"] = "1" }), []string{"parameters[iops]"}},
		{"reclaimPolicy", storageClass(), then(func(s *storagev1.StorageClass) {
			s.ReclaimPolicy = new(corev1.PersistentVolumeReclaimRetain)
		}), []string{"reclaimPolicy"}},
		{"attachRequired", csiDriver(), then(func(d *storagev1.CSIDriver) { d.Spec.AttachRequired = new(true) }), []string{"spec.attachRequired"}},
		{"lifecycle modes", csiDriver(), then(func(d *storagev1.CSIDriver) {
			d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}
		}), []string{"spec.volumeLifecycleModes[0]"}},
		{
			"driver", attributesClass(), then(func(v *storagev1.VolumeAttributesClass) { v.DriverName = "other.example.com" }),
			[]string{"driverName"},
		},
		{"data", controllerRevision(), then(func(c *appsv1.ControllerRevision) { c.Data.Raw = []byte(`{"kind":"other"}`) }), []string{"data.kind"}},
	}
}

// tiered selects by a label more.
func tiered(k kindCase) kindCase {
	desired := k.desired
	k.desired = func() client.Object {
		d := desired().(*appsv1.Deployment)
		d.Spec.Selector.MatchLabels["tier"], d.Spec.Template.Labels["tier"] = "web", "web"
		return d
	}
	return k
}

// attributesClass and controllerRevision are immutable as a whole.
func attributesClass() kindCase {
	return kindCase{
		name:   "VolumeAttributesClass",
		rename: bySuffix,
		desired: func() client.Object {
			return &storagev1.VolumeAttributesClass{
				ObjectMeta: named("gold"), DriverName: "csi.example.com", Parameters: map[string]string{"iops": "100"},
			}
		},
	}
}

func controllerRevision() kindCase {
	return kindCase{
		name: "ControllerRevision",
		desired: func() client.Object {
			return &appsv1.ControllerRevision{
				ObjectMeta: named("revision"), Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{"kind":"state","size":1}`)},
			}
		},
	}
}

// TestInvalidUpdate: a change that is refused for a new object, too, is invalid, not immutable.
func TestInvalidUpdate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		field string
		kindCase
		change func(client.Object)
		path   string
	}{
		{"replicas", idle(deployment()), then(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(-1)) }), "spec.replicas"},
		{"schedule", cronJob(), then(func(c *batchv1.CronJob) { c.Spec.Schedule = "never" }), "spec.schedule"},
		{"clusterIP", externalName(), then(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }), "spec.clusterIP"},
		{"group", customResourceDefinition(), then(func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Group = "other.example.com"
		}), "spec.group"},
		{"neither", fleet(), then(func(u *unstructured.Unstructured) {
			set(u, map[string]any{}, "spec", "home")
		}), "spec.home"},
	} {
		t.Run(tc.kindCase.name+" "+tc.field, func(t *testing.T) {
			t.Parallel()
			haveFleets(t)
			f := newFixture(t, plain(t), tc.kindCase)
			f.createIsOneRequest()
			before := f.live()
			desired := f.desired()
			tc.change(desired)
			_, err := ensure.Object(f.ctx, f.ensurer, desired, ensure.ControlledBy(f.owner))
			require.ErrorIs(t, err, ensure.ErrInvalid)
			var e *ensure.Error
			require.ErrorAs(t, err, &e)
			require.True(t, strings.HasPrefix(strings.Join(e.Paths, " "), tc.path), e.Paths)
			f.requireSame(before, f.live())
		})
	}
}
