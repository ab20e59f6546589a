package ensuretest

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clusterScoped are the kinds of Kubernetes' own that are in no namespace.
var clusterScoped = kinds(`
	Namespace Node PersistentVolume ComponentStatus
	RuntimeClass.node.k8s.io
	PriorityClass.scheduling.k8s.io
	FlowSchema.flowcontrol.apiserver.k8s.io PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io
	IngressClass.networking.k8s.io IPAddress.networking.k8s.io ServiceCIDR.networking.k8s.io
	StorageClass.storage.k8s.io CSIDriver.storage.k8s.io CSINode.storage.k8s.io
	VolumeAttachment.storage.k8s.io VolumeAttributesClass.storage.k8s.io
	ClusterRole.rbac.authorization.k8s.io ClusterRoleBinding.rbac.authorization.k8s.io
	CertificateSigningRequest.certificates.k8s.io ClusterTrustBundle.certificates.k8s.io
	DeviceClass.resource.k8s.io DeviceTaintRule.resource.k8s.io ResourceSlice.resource.k8s.io
	StorageVersionMigration.storagemigration.k8s.io StorageVersion.internal.apiserver.k8s.io
	CustomResourceDefinition.apiextensions.k8s.io APIService.apiregistration.k8s.io
	ValidatingWebhookConfiguration.admissionregistration.k8s.io MutatingWebhookConfiguration.admissionregistration.k8s.io
	ValidatingAdmissionPolicy.admissionregistration.k8s.io ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io
	MutatingAdmissionPolicy.admissionregistration.k8s.io MutatingAdmissionPolicyBinding.admissionregistration.k8s.io
`)

// withoutGeneration are the kinds of Kubernetes' own whose generation is always 0. All
// others, and all custom ones, have one.
var withoutGeneration = kinds(`
	ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim ResourceQuota Secret
	Service ServiceAccount
	ControllerRevision.apps
	HorizontalPodAutoscaler.autoscaling
	CertificateSigningRequest.certificates.k8s.io ClusterTrustBundle.certificates.k8s.io
	Lease.coordination.k8s.io
	Event.events.k8s.io
	IPAddress.networking.k8s.io ServiceCIDR.networking.k8s.io
	RuntimeClass.node.k8s.io
	Role.rbac.authorization.k8s.io RoleBinding.rbac.authorization.k8s.io
	ClusterRole.rbac.authorization.k8s.io ClusterRoleBinding.rbac.authorization.k8s.io
	ResourceClaim.resource.k8s.io ResourceClaimTemplate.resource.k8s.io
	CSINode.storage.k8s.io CSIStorageCapacity.storage.k8s.io StorageClass.storage.k8s.io
	VolumeAttachment.storage.k8s.io VolumeAttributesClass.storage.k8s.io
	APIService.apiregistration.k8s.io
`)

// seesEmpty are the kinds for which a server treats an empty list, which it does not store, as a change
// each time the list is applied: the generation changes, and with it the resourceVersion.
var seesEmpty = kinds(`
	NetworkPolicy.networking.k8s.io
	ValidatingWebhookConfiguration.admissionregistration.k8s.io MutatingWebhookConfiguration.admissionregistration.k8s.io
`)

func kinds(text string) sets.Set[schema.GroupKind] {
	all := sets.New[schema.GroupKind]()
	for name := range strings.FieldsSeq(text) {
		all.Insert(schema.ParseGroupKind(name))
	}
	return all
}

// objectKinds are the kinds of scheme that are objects, neither lists nor options.
func objectKinds(scheme *runtime.Scheme) map[schema.GroupVersionKind]reflect.Type {
	found := map[schema.GroupVersionKind]reflect.Type{}
	for gvk, goType := range scheme.AllKnownTypes() {
		isObject := reflect.PointerTo(goType).Implements(reflect.TypeFor[client.Object]())
		if isObject && gvk.Version != runtime.APIVersionInternal {
			found[gvk] = goType
		}
	}
	return found
}

// newRESTMapper knows the kinds of scheme. A custom kind is taken to be in namespaces,
// unless one of objs is of that kind and in none.
func newRESTMapper(scheme *runtime.Scheme, objs []client.Object) meta.RESTMapper {
	inNone := clusterScoped.Clone()
	for _, obj := range objs {
		gvks, _, err := scheme.ObjectKinds(obj)
		if err == nil && obj.GetNamespace() == "" && !builtIn().Recognizes(gvks[0]) {
			inNone.Insert(gvks[0].GroupKind())
		}
	}
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for gvk := range objectKinds(scheme) {
		if inNone.Has(gvk.GroupKind()) {
			mapper.Add(gvk, meta.RESTScopeRoot)
		} else {
			mapper.Add(gvk, meta.RESTScopeNamespace)
		}
	}
	return mapper
}

// withStatus returns an object of each kind of scheme that has a status, and therefore the subresource.
// A kind that is registered as unstructured may have a status.
func withStatus(scheme *runtime.Scheme) map[schema.GroupVersionKind]client.Object {
	found := map[schema.GroupVersionKind]client.Object{}
	for gvk, goType := range objectKinds(scheme) {
		obj, _ := reflect.TypeAssert[client.Object](reflect.New(goType))
		if _, ok := obj.(*unstructured.Unstructured); !ok && !hasStatus(goType) {
			continue
		}
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		found[gvk] = obj
	}
	return found
}

func hasStatus(goType reflect.Type) bool {
	for field := range goType.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == "status" {
			return true
		}
	}
	return false
}
