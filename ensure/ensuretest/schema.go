package ensuretest

import (
	"sync"

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
		builtIn: applyconfigurations.NewTypeConverter(builtIn()),
		custom:  managedfields.NewDeducedTypeConverter(),
	}
}

func (c typeConverter) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	dropNoStatus(obj)
	if builtIn().Recognizes(obj.GetObjectKind().GroupVersionKind()) {
		return c.builtIn.ObjectToTyped(obj, opts...)
	}
	// Read as a Go type, an unsigned number would be a panic.
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	return c.custom.ObjectToTyped(&unstructured.Unstructured{Object: content}, opts...)
}

func (c typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return c.custom.TypedToObject(value) // the same for both
}

// builtIn knows Kubernetes' own kinds. clientgoscheme.Scheme may know more: many add theirs to it.
var builtIn = sync.OnceValue(func() *runtime.Scheme {
	own := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(own)
	return own
})
