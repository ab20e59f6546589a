package conformance_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var fleetGVK = schema.GroupVersionKind{Group: "fleets.trueup-go.github.io", Version: "v1", Kind: "Fleet"}

// fleet is a scalable custom kind with an immutable field, and two fields that exclude each other.
func fleet() kindCase {
	return kindCase{
		name: "unstructured Fleet",
		desired: func() client.Object {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"replicas": int64(2), "class": "small", "home": map[string]any{"url": "https://example.com"},
			}}}
			u.SetGroupVersionKind(fleetGVK)
			u.SetName("fleet")
			u.SetLabels(map[string]string{ours: "yes"})
			return u
		},
		next: then(func(u *unstructured.Unstructured) { u.SetLabels(nil) }),
		gone: is(func(u *unstructured.Unstructured) bool { return u.GetLabels()[ours] == "" }),
	}
}

// haveFleets installs the kind once for all tests.
func haveFleets(t *testing.T) {
	t.Helper()
	require.NoError(t, prepare())
	require.NoError(t, installFleets())
}

var installFleets = sync.OnceValue(func() error {
	ctx := context.Background()
	crd := fleetCRD()
	if err := admin.Create(ctx, crd); err != nil {
		return err
	}
	probe := fleet().desired()
	probe.SetNamespace(metav1.NamespaceDefault)
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return admin.Create(ctx, probe.DeepCopyObject().(client.Object), client.DryRunAll) == nil, nil
	})
})

func fleetCRD() *apiextensionsv1.CustomResourceDefinition {
	class := typed("string")
	class.XValidations = apiextensionsv1.ValidationRules{{Rule: "self == oldSelf", Message: "class cannot change"}}
	home := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props{"url": typed("string"), "service": typed("string")}}
	home.XValidations = apiextensionsv1.ValidationRules{{Rule: "has(self.url) != has(self.service)", Message: "one of url and service"}}
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props{
		"replicas": defaulted("integer", "1"), "class": class, "home": home,
	}}
	status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props{"replicas": typed("integer")}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "fleets." + fleetGVK.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: fleetGVK.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "fleets", Singular: "fleet", Kind: "Fleet", ListKind: "FleetList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: fleetGVK.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
				},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: props{"spec": spec, "status": status},
				}},
			}},
		},
	}
}
