package existing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// render returns the objects of an operator's config/default that an operator outside the cluster needs.
func render(ctx context.Context, name string) ([]client.Object, error) {
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := operator.Dir(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, kubectl, "kustomize", filepath.Join(dir, "config", "default")).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot render config/default of %s: %w", name, err)
	}
	var objects []client.Object
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("cannot read config/default of %s: %w", name, err)
		}
		if !isNeeded(obj) {
			continue
		}
		if err := withoutWebhook(obj); err != nil {
			return nil, fmt.Errorf("cannot read config/default of %s: %w", name, err)
		}
		objects = append(objects, obj)
	}
}

// isNeeded leaves out the manager, as the operator runs on this machine, and roles that the API server would add to the
// rules of ClusterRoles of others.
func isNeeded(obj *unstructured.Unstructured) bool {
	if slices.Contains([]string{"Deployment", "Service"}, obj.GetKind()) {
		return false
	}
	for label := range obj.GetLabels() {
		if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
			return false
		}
	}
	return true
}

// withoutWebhook leaves only the stored version of a custom kind, as the API server may be unable to reach a webhook on this
// machine.
func withoutWebhook(obj *unstructured.Unstructured) error {
	if obj.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	unstructured.RemoveNestedField(obj.Object, "spec", "conversion")
	versions, _, err := unstructured.NestedSlice(obj.Object, "spec", "versions")
	if err != nil {
		return err
	}
	stored := slices.DeleteFunc(versions, func(version any) bool {
		isStored, _, _ := unstructured.NestedBool(version.(map[string]any), "storage") //nolint:forcetypeassert // by the schema of the kind
		return !isStored
	})
	return unstructured.SetNestedSlice(obj.Object, stored, "spec", "versions")
}

func kindOf(obj client.Object) string { return obj.GetObjectKind().GroupVersionKind().Kind }

// describe names an object in errors.
func describe(obj client.Object) string {
	return kindOf(obj) + " " + strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
}
