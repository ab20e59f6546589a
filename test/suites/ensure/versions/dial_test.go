package versions_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A Dial is a custom resource with a Go type.
type Dial struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DialSpec `json:"spec"`
}

type DialSpec struct {
	Color string            `json:"color,omitempty"`
	Size  int               `json:"size,omitempty"`
	Unit  string            `json:"unit,omitempty"`
	Marks map[string]string `json:"marks,omitempty"`
}

func (d *Dial) DeepCopyObject() runtime.Object {
	out := *d
	d.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Marks = maps.Clone(d.Spec.Marks)
	return &out
}

// A kind is a custom kind of a test's own, in the versions v1 and v2.
type kind struct {
	t         *testing.T
	group     string
	installer client.Client
}

// newKind defines the kind in version v1.
func newKind(t *testing.T, group string) *kind {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	installer, err := client.New(program.Config(shared, "installer"), client.Options{Scheme: scheme})
	require.NoError(t, err)
	k := &kind{t: t, group: group + ".versions.example.com", installer: installer}
	require.NoError(t, cluster.Define(t.Context(), installer, k.definition(version("v1", false))))
	return k
}

func (k *kind) definition(versions ...apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
	versions[len(versions)-1].Storage = true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "dials." + k.group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: k.group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "dials", Singular: "dial", Kind: "Dial", ListKind: "DialList"},
			Versions: versions,
		},
	}
}

// version has a field with a default, or lacks this field.
func version(name string, withUnit bool) apiextensionsv1.CustomResourceDefinitionVersion {
	type props = map[string]apiextensionsv1.JSONSchemaProps
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	spec := props{
		"color": text, "size": {Type: "integer"}, "heat": text,
		"marks": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
	}
	if withUnit {
		spec["unit"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"mm"`)}}
	}
	return apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: props{
				"spec": {Type: "object", Properties: spec, XValidations: apiextensionsv1.ValidationRules{{
					Rule: "!has(self.heat) || self.color != 'blue'", Message: "blue is cold",
				}}},
				"status": {Type: "object", Properties: props{"phase": text}},
			},
		}},
	}
}

// redefine changes the versions, and waits until the server goes by them.
func (k *kind) redefine(versions ...apiextensionsv1.CustomResourceDefinitionVersion) {
	k.t.Helper()
	definition := k.definition(versions...)
	require.NoError(k.t, shared.Await(k.t.Context(), limit, "", func(ctx context.Context) error {
		live := &apiextensionsv1.CustomResourceDefinition{}
		if err := k.installer.Get(ctx, client.ObjectKeyFromObject(definition), live); err != nil {
			return err
		}
		live.Spec.Versions = definition.Spec.Versions
		return k.installer.Update(ctx, live)
	}))
	k.awaitVersions(versions)
}

func (k *kind) awaitVersions(versions []apiextensionsv1.CustomResourceDefinitionVersion) {
	k.t.Helper()
	_, wantUnit := versions[len(versions)-1].Schema.OpenAPIV3Schema.Properties["spec"].Properties["unit"]
	require.NoError(k.t, shared.Await(k.t.Context(), limit, "", func(ctx context.Context) error {
		c, err := client.New(program.Config(shared, "installer"), client.Options{})
		if err != nil {
			return err
		}
		probe := k.dial("v2", "default", "probe")
		if err := c.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if _, hasUnit, _ := unstructured.NestedString(probe.Object, "spec", "unit"); hasUnit != wantUnit {
			return fmt.Errorf("unit: %t", hasUnit)
		}
		err = c.Create(ctx, k.dial("v1", "default", "probe"), client.DryRunAll)
		if isGone := meta.IsNoMatchError(err) || apierrors.IsNotFound(err); isGone != (len(versions) == 1) {
			return fmt.Errorf("v1: %w", err)
		}
		return nil
	}))
}

// addDefault brings version v2, whose schema has a field more, with a default.
func (k *kind) addDefault() {
	k.t.Helper()
	k.redefine(version("v1", false), version("v2", true))
}

// addVersion brings version v2, which is as v1.
func (k *kind) addVersion() {
	k.t.Helper()
	k.redefine(version("v1", false), version("v2", false))
}

// changeType brings version v2, in which a field is of another type.
func (k *kind) changeType() {
	k.t.Helper()
	changed := version("v2", true)
	changed.Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	k.redefine(version("v1", false), changed)
}

// dropVersion takes version v1 away, of which nothing may be stored any more.
func (k *kind) dropVersion() {
	k.t.Helper()
	definition := k.definition(version("v2", false))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"storedVersions":["v2"]}}`))
	require.NoError(k.t, k.installer.Status().Patch(k.t.Context(), definition, patch))
	k.redefine(version("v2", false))
}

// dial is one without a Go type.
func (k *kind) dial(version, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: version, Kind: "Dial"})
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// client returns the client of the program called name. Its Go type, if any, is the type of
// typedVersion.
func (k *kind) client(name, typedVersion string) client.Client {
	k.t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if typedVersion != "" {
		gv := schema.GroupVersion{Group: k.group, Version: typedVersion}
		scheme.AddKnownTypes(gv, &Dial{})
		metav1.AddToGroupVersion(scheme, gv)
	}
	c, err := client.New(program.Config(shared, name), client.Options{Scheme: scheme})
	require.NoError(k.t, err)
	return c
}

func groupOf(t *testing.T) string {
	t.Helper()
	return strings.NewReplacer("/", "-", "_", "-", ",", "").Replace(strings.ToLower(t.Name()))
}
