package ensuretest

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trueup-go/trueup/internal/object"
)

// A typeConverter knows the fields of built-in kinds and how their lists merge, as a server does. For
// all other kinds, any field is valid, and every list is replaced as a whole.
//
// The converter of controller-runtime takes a body that does not fit its built-in kind for one of a
// custom kind. A NetworkPolicy never fits, as it gets a status that the kind does not have.
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
	content, err := object.Content(obj)
	if err != nil {
		return nil, err
	}
	return c.custom.ObjectToTyped(&unstructured.Unstructured{Object: content}, opts...)
}

func (c typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return c.custom.TypedToObject(value) // the same for both
}

// builtIn is a scheme of the built-in kinds. clientgoscheme.Scheme may have more: many programs add
// their own kinds.
var builtIn = sync.OnceValue(func() *runtime.Scheme {
	own := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(own)
	return own
})
