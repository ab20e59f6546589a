package cluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defineLimit bounds the time until the API server serves a new kind, usually a fraction of a
// second.
const defineLimit = time.Minute

// Define creates the definitions of custom kinds, and returns when the API server
// serves them: c can list them. The scheme of c must know CustomResourceDefinitions.
func Define(ctx context.Context, c client.Client, definitions ...*apiextensionsv1.CustomResourceDefinition) error {
	for _, definition := range definitions {
		if err := define(ctx, c, definition); err != nil {
			return fmt.Errorf("cannot define %s: %w", definition.Name, err)
		}
	}
	return nil
}

func define(ctx context.Context, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) error {
	if err := c.Create(ctx, definition); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, interval, defineLimit, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil || !Established(definition) {
			return false, err
		}
		return served(ctx, c, definition)
	})
}

// served reports whether the kind is found and can be listed: the handlers are ready a moment after
// the definition is established.
func served(ctx context.Context, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	for _, version := range definition.Spec.Versions {
		if !version.Served {
			continue
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind + "List",
		})
		switch err := c.List(ctx, list, client.Limit(1)); {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// Established reports whether the API server serves the kind of definition.
func Established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established)
}
