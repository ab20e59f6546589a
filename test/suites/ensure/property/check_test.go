package property_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure"
)

// check requires that the operator kept all guarantees.
func (r *round) check(before, after *unstructured.Unstructured, changes []ensure.Change, err error) {
	r.last = after
	require.Equal(r.t, before.GetUID(), after.GetUID(), "it was deleted")
	require.Nil(r.t, after.GetDeletionTimestamp(), "it was deleted")
	wanted := r.wantedOutcome()
	switch wanted {
	case repaired:
		require.NoError(r.t, err)
		require.True(r.t, satisfies(after.Object, r.desired), "desired is not satisfied")
	case refused:
		require.ErrorIs(r.t, err, ensure.ErrInvalid)
	case immutable:
		require.ErrorIs(r.t, err, ensure.ErrImmutable)
	}
	if wanted != repaired && len(r.between) == 0 {
		require.Equal(r.t, specOf(before), specOf(after), "a change that was refused")
	}
	for _, entry := range after.GetManagedFields() {
		require.False(r.t, entry.Manager == fieldOwner && entry.Operation == metav1.ManagedFieldsOperationUpdate, "an Update entry of ours is left")
	}
	r.checkForeignFields(before, after, changes, wanted)
	r.checkDefaults(before, after, wanted)
	for _, p := range r.between {
		require.True(r.t, place(r.fill(string(p))).has(r.t, after.Object), "%s was written between two requests", p)
	}
	if wanted == repaired {
		r.checkOwnFields(after)
	}
}

func specOf(obj *unstructured.Unstructured) map[string]any {
	out := map[string]any{"labels": obj.GetLabels(), "finalizers": obj.GetFinalizers()}
	for name, content := range obj.Object {
		if name != "metadata" && name != "status" {
			out[name] = content
		}
	}
	return out
}

// checkForeignFields requires that each field of another owner keeps its value and its owner, unless
// desired specifies the field, or the server refused the field and Changes lists it.
func (r *round) checkForeignFields(before, after *unstructured.Unstructured, changes []ensure.Change, wanted outcome) {
	owners := entriesOf(after)
	for key, fields := range entriesOf(before) {
		if !isForeign(key) {
			continue
		}
		fields.Iterate(func(path fieldpath.Path) {
			name := textOf(path)
			was, existed := lookup(before.Object, path)
			is, exists := lookup(after.Object, path)
			switch {
			case !existed, wanted == repaired && (r.specifies(path) || r.cascades(path)):
			case wanted == repaired && r.mayLose(name):
				require.True(r.t, exists && reflect.DeepEqual(was, is) || r.mayMissReport() || r.isReported(changes, name), "Changes lacks %s", name)
			case wanted == repaired && r.holdsLoss(name) && !exists: // it was empty then; what else was in it has a path of its own
			default:
				require.True(r.t, exists, "%s lost %s", key, name)
				require.True(r.t, r.isSame(was, is, path), "%s of %s is %v instead of %v", name, key, is, was)
				require.True(r.t, owners[key] != nil && owners[key].Has(path), "%s does not own %s any more", key, name)
			}
		})
	}
}

// checkDefaults requires that fields without an owner, which the server filled in, are unchanged.
func (r *round) checkDefaults(before, after *unstructured.Unstructured, wanted outcome) {
	owned := fieldpath.NewSet()
	for _, fields := range entriesOf(before) {
		owned = owned.Union(fields)
	}
	for _, path := range unowned(before.Object, owned, nil) {
		name := textOf(path)
		if wanted == repaired && (r.specifies(path) || r.cascades(path) || r.mayLose(name) || r.holdsLoss(name)) || r.isBetween(name) {
			continue
		}
		was, _ := lookup(before.Object, path)
		is, exists := lookup(after.Object, path)
		require.True(r.t, exists && r.isSame(was, is, path), "the default of %s is %v instead of %v", name, is, was)
	}
}

// isBetween reports whether another program wrote a field between two requests.
func (r *round) isBetween(name string) bool {
	return slices.ContainsFunc(r.between, func(p place) bool {
		steps, _ := split(string(p))
		written := strings.ReplaceAll(strings.Join(steps, "."), ".[", "[")
		return isBelow(written, name) || isBelow(name, written)
	})
}

// isSame compares the previous and the present value at path, except for the parts that other
// owners lost or wrote meanwhile, or that the server removed.
func (r *round) isSame(was, is any, path fieldpath.Path) bool {
	switch before := was.(type) {
	case map[string]any:
		after, ok := is.(map[string]any)
		for name := range before {
			inner := append(path.Copy(), fieldpath.FieldNameElement(name))
			ok = ok && (r.specifies(inner) || r.cascades(inner) || r.mayLose(textOf(inner)) || r.isSame(before[name], after[name], inner))
		}
		return ok
	case []any:
		if len(path) > 0 && r.isShared(path) {
			return true // its items are compared by their names
		}
	}
	return reflect.DeepEqual(was, is)
}

// mayLose reports whether one of the clashes is about a field.
func (r *round) mayLose(name string) bool {
	return slices.ContainsFunc(r.chosen, func(c clash) bool {
		return slices.ContainsFunc(c.loses, func(lost string) bool { return isBelow(name, lost) })
	})
}

// holdsLoss reports whether one of the clashes is about something in a field.
func (r *round) holdsLoss(name string) bool {
	return slices.ContainsFunc(r.chosen, func(c clash) bool {
		return slices.ContainsFunc(c.loses, func(lost string) bool { return isBelow(lost, name) })
	})
}

func isBelow(name, above string) bool {
	rest, ok := strings.CutPrefix(name, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// isReported reports whether Changes lists a removal: of the field, of a parent, or of a child. Without
// a Go type, a pass that only finishes an interrupted repair names items by their index.
func (r *round) isReported(changes []ensure.Change, name string) bool {
	byIndex := r.hasFault() && !r.asTyped
	name = keys.ReplaceAllString(name, ".$1")
	bare := items.ReplaceAllString(name, "[]")
	list := bare[:strings.LastIndex(bare, "[]")+1]
	return slices.ContainsFunc(changes, func(c ensure.Change) bool {
		path := keys.ReplaceAllString(c.Path, ".$1")
		if isBelow(name, path) || isBelow(path, name) {
			return true
		}
		path = items.ReplaceAllString(path, "[]")
		return byIndex && (isBelow(bare, path) || list != "" && strings.HasPrefix(path, list))
	})
}

// items and keys match the brackets of paths: of lists, and of maps.
var (
	items = regexp.MustCompile(`\[[^]]*\]`)
	keys  = regexp.MustCompile(`\[([^]=./]*[a-z][^]=./]*)\]`)
)

func (r *round) hasFault() bool {
	return r.operator.met(func(*fault) bool { return true })
}

// mayMissReport reports whether a removal may be missing from the Changes of every pass: the server
// removed the field but its answer was lost, or the pass that finished the repair saw the object as
// before.
func (r *round) mayMissReport() bool {
	return r.operator.met(func(t *fault) bool { return t.delivered || t.err != nil && r.operator.isLagging })
}

// checkOwnFields requires that our applies own only fields that desired specifies.
func (r *round) checkOwnFields(after *unstructured.Unstructured) {
	ours := entriesOf(after)[fieldOwner+" Apply "]
	require.NotNil(r.t, ours, "no entry of our applies")
	ours.Leaves().Iterate(func(path fieldpath.Path) {
		name := textOf(path)
		require.True(r.t, r.specifies(path) || strings.HasPrefix(name, "metadata.annotations[spec-hash"), "we own %s", name)
	})
}

// isForeign reports whether an entry belongs to one of the programs that write in these rounds;
// controllers change the fields that they wrote.
func isForeign(key string) bool {
	return key != fieldOwner+" Apply " && !strings.HasPrefix(key, "kube-") && !strings.HasSuffix(key, " status") || strings.HasPrefix(key, "a-controller")
}

// cascades reports whether the server removes the field at path.
func (r *round) cascades(path fieldpath.Path) bool {
	return slices.ContainsFunc(path, func(element fieldpath.PathElement) bool {
		return element.FieldName != nil &&
			slices.ContainsFunc(r.chosen, func(c clash) bool { return slices.Contains(c.cascades, *element.FieldName) })
	})
}

// isShared reports whether the items of a list have names.
func (r *round) isShared(path fieldpath.Path) bool {
	for _, entry := range entriesOf(r.last) {
		for _, element := range path {
			entry = entry.WithPrefix(element)
		}
		shared := false
		entry.Iterate(func(inner fieldpath.Path) { shared = shared || inner[0].FieldName == nil })
		if shared {
			return true
		}
	}
	return false
}

// specifies reports whether desired has something at path, or a value without parts on the way.
func (r *round) specifies(path fieldpath.Path) bool {
	var at any = r.desired
	for _, element := range path {
		switch parent := at.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return true
			}
			member, ok := parent[*element.FieldName]
			if !ok {
				return false
			}
			at = member
		case []any:
			i := find(parent, element)
			if i < 0 {
				return element.Key == nil && element.Value == nil
			}
			at = parent[i]
		default:
			return true
		}
	}
	return true
}
