package conformance_test

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// customResourceDefinition is the Gadget's, in a group of the test's own.
func customResourceDefinition() kindCase {
	version := func(c *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionVersion {
		return &c.Spec.Versions[0]
	}
	return kindCase{
		name: "CustomResourceDefinition",
		desired: func() client.Object {
			crd := gadgetCRD()
			crd.ObjectMeta = named(crd.Name)
			crd.Spec.Names.ShortNames = []string{}
			version(crd).AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{
				{Name: "Size", Type: "integer", JSONPath: ".spec.size"},
			}
			return crd
		},
		rename: func(obj client.Object, suffix string) {
			crd := obj.(*apiextensionsv1.CustomResourceDefinition)
			crd.Spec.Group = suffix + ".example.com"
			crd.Name = "gadgets." + crd.Spec.Group
		},
		settled: is(cluster.Established),
		edits: []edit{
			on("a default", func(c *apiextensionsv1.CustomResourceDefinition) {
				spec := version(c).Schema.OpenAPIV3Schema.Properties["spec"]
				spec.Properties["mode"] = defaulted("string", `"edited"`)
			}),
			on("a field less", func(c *apiextensionsv1.CustomResourceDefinition) {
				delete(version(c).Schema.OpenAPIV3Schema.Properties["spec"].Properties, "timeout")
			}),
			on("a column more", func(c *apiextensionsv1.CustomResourceDefinition) {
				version(c).AdditionalPrinterColumns = append(version(c).AdditionalPrinterColumns,
					apiextensionsv1.CustomResourceColumnDefinition{Name: "Mode", Type: "string", JSONPath: ".spec.mode"})
			}),
			on("a short name", func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.ShortNames = []string{"edited"} }),
			on("no status", func(c *apiextensionsv1.CustomResourceDefinition) { version(c).Subresources = nil }),
		},
		next: then(func(c *apiextensionsv1.CustomResourceDefinition) {
			version(c).AdditionalPrinterColumns = nil
			delete(version(c).Schema.OpenAPIV3Schema.Properties["spec"].Properties, "ratio")
		}),
		gone: is(func(c *apiextensionsv1.CustomResourceDefinition) bool {
			_, ok := version(c).Schema.OpenAPIV3Schema.Properties["spec"].Properties["ratio"]
			return !ok && version(c).AdditionalPrinterColumns == nil
		}),
	}
}

// apiService is one that the server itself answers for: one that nobody answers for
// would hold up the deletion of every namespace.
func apiService() kindCase {
	return kindCase{
		name: "unstructured APIService",
		desired: func() client.Object {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"groupPriorityMinimum": int64(100), "versionPriority": int64(1), "service": nil,
			}}}
			u.SetAPIVersion("apiregistration.k8s.io/v1")
			u.SetKind("APIService")
			u.SetLabels(map[string]string{ours: "yes"})
			u.SetAnnotations(map[string]string{ours: "made by a test"})
			return u
		},
		rename: func(obj client.Object, suffix string) {
			u := obj.(*unstructured.Unstructured)
			group := suffix + ".example.com"
			u.SetName("v1." + group)
			set(u, group, "spec", "group")
			set(u, "v1", "spec", "version")
		},
		settled: is(func(u *unstructured.Unstructured) bool {
			conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
			return len(conditions) > 0
		}),
		edits: []edit{
			on("a priority", func(u *unstructured.Unstructured) { set(u, int64(200), "spec", "groupPriorityMinimum") }),
			on("the other priority", func(u *unstructured.Unstructured) { set(u, int64(20), "spec", "versionPriority") }),
		},
		next: then(func(u *unstructured.Unstructured) { u.SetLabels(nil) }),
		gone: is(func(u *unstructured.Unstructured) bool {
			_, ok := u.GetLabels()[ours]
			return !ok
		}),
	}
}
