package migration_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const shelves = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.metering.example.com}
spec:
  group: metering.example.com
  scope: Namespaced
  names: {plural: shelves, singular: shelf, kind: Shelf, listKind: ShelfList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 1}
              options: &options
                type: object
                properties:
                  a: {type: string, default: x}
                  b: {type: string}
                  deep: {type: object, properties: {c: {type: string, default: x}, d: {type: string}}}
              labels: {type: object, additionalProperties: {type: string}}
              groups: {type: object, additionalProperties: *options}
              ports: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              words: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
              source:
                type: object
                oneOf: [{required: [file]}, {required: [text]}]
                properties:
                  file: {type: object, properties: {path: {type: string}, mode: {type: string, default: r}}}
                  text: {type: string}
              slots:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    value: {type: string}
                    options: *options
                    labels: {type: object, additionalProperties: {type: string}}
                    tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
                    nested:
                      type: array
                      x-kubernetes-list-type: map
                      x-kubernetes-list-map-keys: [name]
                      items: {type: object, required: [name], properties: {name: {type: string}, value: {type: string}}}
`

var shelfKind = schema.GroupVersionKind{Group: "metering.example.com", Version: "v1", Kind: "Shelf"}

// A customDrop is a drop of a custom kind.
type customDrop struct {
	drop

	// leaves is what stays, besides, in a later release of an operator that may not read the definition: nothing tells
	// that the defaults under the name of the old operator are no keys of a map.
	leaves string
}

func customDrops() map[string]customDrop {
	slot := func(fields string) string { return "slots: [{name: a, " + fields + "}]" }
	const a = "spec.slots[name=a]"
	return map[string]customDrop{
		"a field": {drop{"size: 2", "words: [x]", []string{"spec.size"}}, ""},
		"a field of a struct": {
			drop{"options: {b: x, deep: {d: x}}", "options: {b: x}", []string{"spec.options.deep"}},
			"options: {b: x, a: x, deep: {c: x}}",
		},
		"a struct":            {drop{"options: {b: x}", "size: 2", []string{"spec.options"}}, "options: {a: x}"},
		"a default":           {drop{"options: {a: z, b: x}", "options: {b: x}", []string{"spec.options.a"}}, ""},
		"a key":               {drop{"labels: {a: x, b: x}", "labels: {a: x}", []string{"spec.labels.b"}}, ""},
		"all keys":            {drop{"labels: {a: x, b: x}", "size: 2", []string{"spec.labels"}}, ""},
		"a struct in a map":   {drop{"groups: {g: {b: x}, h: {b: x}}", "groups: {g: {b: x}}", []string{"spec.groups.h"}}, ""},
		"a member of a set":   {drop{"ports: [http, https]", "ports: [http]", []string{"spec.ports[https]"}}, ""},
		"a list":              {drop{"words: [x, z]", "words: [x]", nil}, ""},
		"all of a list":       {drop{"words: [x, z]", "size: 2", []string{"spec.words"}}, ""},
		"the other source":    {drop{"source: {file: {path: x}}", "source: {text: x}", nil}, ""},
		"the source":          {drop{"source: {text: x}", "source: {file: {path: x}}", nil}, ""},
		"an item":             {drop{"slots: [{name: a}, {name: b, value: x}]", "slots: [{name: a}]", []string{"spec.slots[name=b]"}}, ""},
		"an item's name":      {drop{slot("value: x"), "slots: [{name: b, value: x}]", []string{a}}, ""},
		"a field of an item":  {drop{slot("value: x"), "slots: [{name: a}]", []string{a + ".value"}}, ""},
		"a struct of an item": {drop{slot("options: {b: x}"), "slots: [{name: a}]", []string{a + ".options"}}, slot("options: {a: x}")},
		"a key in an item":    {drop{slot("labels: {a: x, b: x}"), slot("labels: {a: x}"), []string{a + ".labels.b"}}, ""},
		"a member in an item": {drop{slot("tags: [x, z]"), slot("tags: [x]"), []string{a + ".tags[z]"}}, ""},
		"an item in an item":  {drop{slot("nested: [{name: b}, {name: c}]"), slot("nested: [{name: b}]"), []string{a + ".nested[name=c]"}}, ""},
	}
}

// A shelf is one in a namespace, and its operator.
type shelf struct {
	t         *testing.T
	namespace string
	client    client.Client
	reader    *definitionReader
}

// A definitionReader may or may not read definitions.
type definitionReader struct {
	client.Reader

	refuses bool
	reads   int
}

func (r *definitionReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if obj.GetObjectKind().GroupVersionKind().Kind == "CustomResourceDefinition" {
		r.reads++
		if r.refuses {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, key.Name, nil)
		}
	}
	return r.Reader.Get(ctx, key, obj, opts...)
}

func newShelf(t *testing.T, refuses bool) *shelf {
	t.Helper()
	program.Define(t, shared, shelves, shelfKind)
	c := program.Client(t, shared, taker)
	return &shelf{t: t, namespace: shared.Namespace(t), client: c, reader: &definitionReader{Reader: c, refuses: refuses}}
}

func (s *shelf) desired(spec string) *unstructured.Unstructured {
	s.t.Helper()
	members := map[string]any{}
	text, err := yaml.YAMLToJSON([]byte("spec: {" + spec + "}"))
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(text, &members))
	u := &unstructured.Unstructured{Object: members}
	u.SetGroupVersionKind(shelfKind)
	u.SetNamespace(s.namespace)
	u.SetName("web")
	return u
}

// release is the first pass of a new release of the operator, and one that finds nothing to do.
func (s *shelf) release(spec string, opts ...ensure.Option) ensure.Result[*unstructured.Unstructured] {
	s.t.Helper()
	e, opts := ensure.New(s.client, s.reader, taker), append(opts, ensure.Adopt(), ensure.MigrateFrom(oldName))
	result := mustEnsure(s.t, e, s.desired(spec), opts...)
	require.Equal(s.t, ensure.Unchanged, mustEnsure(s.t, e, s.desired(spec), opts...).Operation)
	return result
}

// content is the spec, and our fields.
func (s *shelf) content() (spec, ours any) {
	s.t.Helper()
	live := liveOf(s.t, s.client, s.desired(""))
	if own := managedfields.Applied(live, taker); own != nil {
		require.NoError(s.t, json.Unmarshal(own.FieldsV1.GetRawBytes(), &ours))
	}
	return live.Object["spec"], ours
}

// requireAs fails unless a shelf is as another one, except for what stays.
func (s *shelf) requireAs(other *shelf, stays string) {
	s.t.Helper()
	spec, ours := s.content()
	wantedSpec, wanted := other.content()
	if stays != "" {
		wantedMembers, _ := wantedSpec.(map[string]any)
		more, _ := s.desired(stays).Object["spec"].(map[string]any)
		maps.Copy(wantedMembers, more)
	}
	require.Empty(s.t, cmp.Diff(wantedSpec, spec))
	require.Empty(s.t, cmp.Diff(wanted, ours))
}

// TestDropsOfACustomKind: a kind without a Go type is migrated as one with a Go type if the operator may read its
// definition. Otherwise some defaults stay with the old operator.
func TestDropsOfACustomKind(t *testing.T) {
	for access, refuses := range map[string]bool{"readable": false, "not readable": true} {
		for about, tc := range customDrops() {
			begin := func(t *testing.T) (s, born *shelf) {
				t.Helper()
				s, born = newShelf(t, refuses), newShelf(t, refuses)
				require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), s.desired(tc.before)))
				born.release(tc.before)
				return s, born
			}
			t.Run(access+"/"+about+"/later", func(t *testing.T) {
				t.Parallel()
				s, born := begin(t)
				require.Equal(t, ensure.Migrated, s.release(tc.before).Cause)
				s.requireAs(born, "")
				s.release(tc.after)
				born.release(tc.after)
				stays := tc.leaves
				if !refuses {
					stays = ""
				}
				s.requireAs(born, stays)
				require.True(t, s.reader.reads > 0 || tc.leaves == "", "the definition tells")
			})
			t.Run(access+"/"+about+"/in the first release", func(t *testing.T) {
				t.Parallel()
				s, born := begin(t)
				before, _ := s.content()
				result := s.release(tc.after)
				if tc.retire != nil {
					after, _ := s.content()
					require.NotEmpty(t, result.Kept)
					requireInside(t, before, after, "spec")
					s.release(tc.after, ensure.Retire(tc.retire...))
				}
				born.release(tc.after)
				s.requireAs(born, "")
			})
		}
	}
}
