package explain

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// A Structure tells the fields of structs of a kind from the keys of maps, which managed fields do not.
type Structure struct {
	shape   canon.Shape
	isField func(fieldpath.Path) bool // nil if not known
}

// BuiltIn returns the Structure of a kind of Kubernetes, and false for other kinds.
func BuiltIn(kind schema.GroupVersionKind) (Structure, bool) {
	obj, err := scheme.Scheme.New(kind)
	if err != nil {
		return Structure{}, false
	}
	goType := reflect.TypeOf(obj)
	return Structure{shape: canon.ShapeOf(goType), isField: migrate.FieldsOf(goType)}, true
}

// Custom returns the Structure of a version of a custom kind. definition is its CustomResourceDefinition, or nil if it is
// not known.
func Custom(definition *unstructured.Unstructured, version string) Structure {
	structure := Structure{shape: canon.ShapeOf(reflect.TypeFor[metav1.PartialObjectMetadata]())}
	if definition != nil {
		structure.isField = migrate.FieldsOfSchema(definition, version)
	}
	return structure
}

// isKnownField reports whether a path is known to lead to a field of a struct.
func (s Structure) isKnownField(path fieldpath.Path) bool {
	return s.isField != nil && s.isField(path)
}

// text returns a path in the form that options of package ensure take.
func (s Structure) text(path fieldpath.Path) string {
	return managedfields.TextIn(s.shape, path)
}
