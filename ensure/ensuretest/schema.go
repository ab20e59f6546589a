package ensuretest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// typeConverter knows what a server knows of Kubernetes' own kinds: their fields, and how
// their lists merge. Of all others it knows nothing: any field goes, and every list is
// replaced as a whole.
//
// controller-runtime's takes a body that does not fit its kind for a custom one's, and a
// NetworkPolicy's never fits, as it is given a status that the kind does not have.
type typeConverter struct {
	builtIn, custom managedfields.TypeConverter
}

func newTypeConverter() managedfields.TypeConverter {
	return typeConverter{
		builtIn: applyconfigurations.NewTypeConverter(clientgoscheme.Scheme),
		custom:  managedfields.NewDeducedTypeConverter(),
	}
}

func (c typeConverter) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if status, there := u.Object["status"]; there && status == nil {
			delete(u.Object, "status")
		}
	}
	if clientgoscheme.Scheme.Recognizes(obj.GetObjectKind().GroupVersionKind()) {
		return c.builtIn.ObjectToTyped(obj, opts...)
	}
	return c.custom.ObjectToTyped(obj, opts...)
}

func (c typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return c.custom.TypedToObject(value) // the same for both
}
