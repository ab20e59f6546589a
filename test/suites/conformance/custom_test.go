package conformance_test

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func gadget() kindCase {
	return kindCase{
		name: "Gadget",
		desired: func() client.Object {
			return &Gadget{
				ObjectMeta: named("gadget"),
				Spec: GadgetSpec{
					Size: 3, Ratio: 0.5, Storage: resource.MustParse("1000m"),
					Timeout: &metav1.Duration{Duration: 90 * time.Second},
					Parts:   []GadgetPart{{Name: "left"}, {Name: "right", Count: 2, Color: "blue"}},
					Args:    []string{"a", "b"},
				},
			}
		},
		edits: []edit{
			on("a number", func(g *Gadget) { g.Spec.Size = 7 }),
			on("a float", func(g *Gadget) { g.Spec.Ratio = 0.25 }),
			on("a quantity", func(g *Gadget) { g.Spec.Storage = resource.MustParse("2") }),
			on("a part", func(g *Gadget) { g.Spec.Parts[1].Color = "red" }),
			on("an argument more", func(g *Gadget) { g.Spec.Args = append(g.Spec.Args, "c") }),
		},
		additions: []edit{
			on("a part", func(g *Gadget) { g.Spec.Parts = append(g.Spec.Parts, GadgetPart{Name: "theirs"}) }),
			on("a mode", func(g *Gadget) { g.Spec.Mode = "manual" }),
		},
		next: then(func(g *Gadget) { g.Spec.Parts, g.Spec.Ratio = g.Spec.Parts[1:], 0 }),
		gone: is(func(g *Gadget) bool {
			return g.Spec.Ratio == 0 && !slices.ContainsFunc(g.Spec.Parts, func(p GadgetPart) bool { return p.Name == "left" })
		}),
	}
}

func unstructuredGadget() kindCase {
	return kindCase{
		name: "unstructured Gadget",
		desired: func() client.Object {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"size": int64(3), "ratio": 0.5, "storage": "1", "args": []any{"a", "b"},
				"parts": []any{map[string]any{"name": "left"}, map[string]any{"name": "right", "color": "blue"}},
				"db":    map[string]any{},
			}}}
			u.SetGroupVersionKind(gadgetGVK)
			u.SetName("unstructured")
			u.SetLabels(map[string]string{ours: "yes"})
			u.SetAnnotations(map[string]string{ours: "made by a test"})
			return u
		},
		edits: []edit{
			on("a number", func(u *unstructured.Unstructured) { set(u, int64(7), "spec", "size") }),
			on("a list", func(u *unstructured.Unstructured) { set(u, []any{"a"}, "spec", "args") }),
		},
		additions: []edit{on("a mode", func(u *unstructured.Unstructured) { set(u, "manual", "spec", "mode") })},
		next: then(func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "spec", "ratio")
		}),
		gone: is(func(u *unstructured.Unstructured) bool {
			_, ok, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "ratio")
			return !ok
		}),
	}
}

func set(u *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		panic(err)
	}
}
