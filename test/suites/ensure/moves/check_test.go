package moves_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// check requires all guarantees after a pass.
func (r *round) check() {
	pair := []*object{r.born, r.migrated}
	for _, o := range pair {
		r.checkDesired(o)
		r.checkTheirs(o)
		if o.before != nil && !r.mayRoll {
			template := pathOf("spec.template")
			was, is := get(o.before.Object, template), get(o.after.Object, template)
			r.require(reflect.DeepEqual(was, is), "%s: its pods differ though nobody changed them", o.name)
		}
	}
	own, olds := fieldsOf(r.migrated.after, fieldOwner, metav1.ManagedFieldsOperationApply), fieldsOf(r.migrated.after, oldName, "")
	r.require(!r.migrates || own.Leaves().Intersection(olds).Empty(), "the older version shares %s", own.Leaves().Intersection(olds))
	r.olds = r.olds.Difference(own.Difference(olds))
	for name := range r.wanted {
		if !r.once[name] {
			delete(r.touched, name)
		}
	}
	r.noteNobodys()
	r.checkOlder()
	r.checkEqual()
}

// beforeFirstApply is the manager of what nobody is known to have set.
const beforeFirstApply = "before-first-apply"

// noteNobodys counts what nobody is known to have set in an adopted object as the older version's: after somebody emptied
// the managed fields, it may be another program's, so that the library does not take it. What desired drops stays then.
func (r *round) noteNobodys() {
	nobodys := fieldsOf(r.migrated.after, beforeFirstApply, "")
	if !r.script.IsAdopted || nobodys.Empty() {
		return
	}
	r.olds = r.olds.Union(nobodys)
	for _, p := range r.kind.parts {
		r.touched[p.name] = r.touched[p.name] || holds(nobodys, pathOf(p.path))
	}
}

// checkDesired requires that an object has all that desired has.
func (r *round) checkDesired(o *object) {
	for _, p := range r.kind.parts {
		if variant, ok := r.wanted[p.name]; ok && !r.once[p.name] {
			content := p.variant(variant)
			r.require(satisfies(get(o.after.Object, pathOf(p.path)), content), "%s lacks %s=%s", o.name, p.name, variant)
		}
	}
}

// checkTheirs requires that strangers' fields have their values and owners.
func (r *round) checkTheirs(o *object) {
	for _, name := range slices.Sorted(maps.Keys(r.theirs)) {
		their := r.theirs[name]
		path, content := pathOf(their.path), their.variant(firstWord(their.variants[0]))
		r.require(satisfies(get(o.after.Object, path), content), "%s lost %s of %s", o.name, name, their.manager)
		isOwned := holds(fieldsOf(o.after, their.manager, their.operation), path)
		r.require(isOwned || !their.isOwned, "%s: %s does not own %s any more", o.name, their.manager, name)
	}
}

// checkOlder requires that what only the older version set stays.
func (r *round) checkOlder() {
	for _, name := range slices.Sorted(maps.Keys(r.older)) {
		if p, _ := r.oldPart(name); !p.isLoose {
			content := p.variant(r.older[name])
			r.require(satisfies(get(r.migrated.after.Object, pathOf(p.path)), content), "%s=%s of the older version is lost", name, r.older[name])
		}
	}
	for _, p := range r.kind.legacy {
		isGone := get(r.migrated.after.Object, pathOf(p.path)) == nil
		isNobodys := r.script.IsAdopted && holds(fieldsOf(r.migrated.after, beforeFirstApply, ""), pathOf(p.path))
		r.require(isGone || !r.retired[p.name] || !r.migrates || isNobodys, "%s is retired and still there", p.name)
	}
}

// checkEqual requires that the objects differ only in what the older version wrote, and desired did not have since.
func (r *round) checkEqual() {
	for _, d := range differences(nil, r.comparable(r.born), r.comparable(r.migrated)) {
		if !r.isOlds(d) {
			r.require(false, "%s is %s in the born object, and %s in the migrated one", d.path, textOf(d.born), textOf(d.migrated))
		}
	}
}

// isOlds reports whether a difference is the older version's: it wrote the field, or another variant of the part that the
// field is of.
func (r *round) isOlds(d difference) bool {
	for n := range d.path {
		if r.olds.Has(d.path[:n+1]) && (n == len(d.path)-1 || !isAround(r.olds, d.path[:n+1])) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(r.kind.parts, r.kind.legacy), func(p part) bool {
		path := pathOf(p.path)
		return r.touched[p.name] && len(d.path) >= len(path) && d.path[:len(path)].Equals(path)
	})
}

// comparable returns the content of an object without what the server chooses for each.
func (r *round) comparable(o *object) map[string]any {
	content := map[string]any(contentOf(o.after))
	for _, path := range r.kind.chosen {
		remove(content, pathOf(path))
	}
	return content
}

// A content is printed as JSON.
type content map[string]any

func (c content) String() string { return textOf(map[string]any(c)) }

// contentOf returns an object without its status and the metadata that is the server's, and without our digest.
func contentOf(obj *unstructured.Unstructured) content {
	out := runtime.DeepCopyJSON(obj.Object)
	delete(out, "status")
	metadata, _ := out["metadata"].(map[string]any)
	maps.DeleteFunc(metadata, func(name string, _ any) bool {
		return !slices.Contains([]string{"labels", "annotations", "finalizers", "ownerReferences"}, name)
	})
	annotations, _ := metadata["annotations"].(map[string]any)
	maps.DeleteFunc(annotations, func(name string, _ any) bool {
		return strings.HasPrefix(name, "spec-hash.") || strings.HasPrefix(name, "deployment.kubernetes.io/")
	})
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return out
}

func textOf(content any) string {
	text, err := json.Marshal(content)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ownersOf returns the managed fields in lines.
func ownersOf(obj *unstructured.Unstructured) string {
	var lines []string
	for _, entry := range obj.GetManagedFields() {
		lines = append(lines, fmt.Sprintf("  %s %s %s: %s", entry.Manager, entry.Operation, entry.Subresource, entry.FieldsV1.GetRawBytes()))
	}
	return strings.Join(lines, "\n")
}

// fieldsOf returns the fields of a manager's entries of an operation, or of all.
func fieldsOf(obj *unstructured.Unstructured, manager string, operation metav1.ManagedFieldsOperationType) *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != manager || entry.Subresource != "" || operation != "" && entry.Operation != operation {
			continue
		}
		fields := fieldpath.NewSet()
		if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err == nil {
			out = out.Union(fields)
		}
	}
	return out
}

// holds reports whether fields has path, or something inside.
func holds(fields *fieldpath.Set, path fieldpath.Path) bool {
	return fields.Has(path) || isAround(fields, path)
}

// isAround reports whether fields has something inside path.
func isAround(fields *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		fields = fields.WithPrefix(element)
	}
	return !fields.Empty()
}
