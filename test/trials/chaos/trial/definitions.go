package trial

import (
	"context"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// addedField is a field that an upgrade adds to the spec of each version of a kind.
const addedField = "addedByAnUpgrade"

func definitionFaults() []choice {
	var choices []choice
	for _, k := range owners.All() {
		gvk := owners.Kinds[k.Name()]
		name := owners.Resource(gvk.Kind) + "." + gvk.Group
		choices = append(choices, choice{
			"CRD of " + gvk.Kind + " upgraded", 2 * time.Second, 8 * time.Second,
			func(ctx context.Context, e *environment, last lasting) error {
				upgrade := func(properties map[string]apiextensionsv1.JSONSchemaProps) {
					properties[addedField] = apiextensionsv1.JSONSchemaProps{Type: "string"}
				}
				if err := e.redefine(ctx, name, upgrade); err != nil {
					return err
				}
				if err := last(); err != nil {
					return err
				}
				return e.redefine(ctx, name, func(properties map[string]apiextensionsv1.JSONSchemaProps) { delete(properties, addedField) })
			},
		})
	}
	return choices
}

// redefine changes the properties of the spec in all versions of a CRD.
func (e *environment) redefine(ctx context.Context, name string, change func(map[string]apiextensionsv1.JSONSchemaProps)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return persist(ctx, func(ctx context.Context) error {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := e.admin.Get(ctx, client.ObjectKey{Name: strings.ToLower(name)}, crd); err != nil {
				return err
			}
			for i := range crd.Spec.Versions {
				change(crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties)
			}
			return e.admin.Update(ctx, crd)
		})
	})
}
