package readiness

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds are empty objects of the kinds that have rules of their own.
var kinds = map[schema.GroupVersionKind]runtime.Object{
	appsv1.SchemeGroupVersion.WithKind("Deployment"):                        &appsv1.Deployment{},
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):                        &appsv1.ReplicaSet{},
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"):                       &appsv1.StatefulSet{},
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"):                         &appsv1.DaemonSet{},
	corev1.SchemeGroupVersion.WithKind("Pod"):                               &corev1.Pod{},
	batchv1.SchemeGroupVersion.WithKind("Job"):                              &batchv1.Job{},
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"):             &corev1.PersistentVolumeClaim{},
	corev1.SchemeGroupVersion.WithKind("Service"):                           &corev1.Service{},
	apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"): &apiextensionsv1.CustomResourceDefinition{},
}

// typed returns an unstructured object of one of kinds in its Go type, and any other object as it is.
func typed(obj client.Object) (client.Object, error) {
	u, ok := obj.(runtime.Unstructured)
	if !ok {
		return obj, nil
	}
	empty, ok := kinds[u.GetObjectKind().GroupVersionKind()]
	if !ok {
		return obj, nil
	}
	out, _ := empty.DeepCopyObject().(client.Object)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(withoutUnread(u.UnstructuredContent()), out)
}

// unread are the parts of an object, by field and subfield, that no rule reads and that take most of the
// time to convert.
var unread = map[string][]string{
	"metadata": {"managedFields", "annotations"},
	"spec":     {"template", "volumeClaimTemplates", "containers", "initContainers", "volumes", "versions"},
}

// withoutUnread returns a copy of content without the parts that are unread. The copy shares the other parts.
func withoutUnread(content map[string]any) map[string]any {
	trimmed := maps.Clone(content)
	for field, subfields := range unread {
		part, ok := content[field].(map[string]any)
		if !ok {
			continue
		}
		part = maps.Clone(part)
		for _, subfield := range subfields {
			delete(part, subfield)
		}
		trimmed[field] = part
	}
	return trimmed
}
