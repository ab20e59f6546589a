package ensuretest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
)

// compare returns the changes of a write and its outcome, given the object before and after the write.
// Either may be nil.
func compare(before, after client.Object) ([]ensure.Change, string) {
	switch {
	case before == nil && after == nil:
		return nil, ""
	case before == nil:
		return nil, "created"
	case after == nil:
		return nil, "gone"
	case before.GetUID() != after.GetUID():
		return nil, "another object"
	case before.GetResourceVersion() == after.GetResourceVersion():
		return nil, "changed nothing"
	case before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		return nil, "terminating"
	}
	var changes []ensure.Change
	for _, change := range delta.Diff(before, after, managedfields.Owned{}) {
		changes = append(changes, ensure.Change{Path: change.Path, Old: change.Old, New: change.New})
	}
	changes = append(changes, statusChanges("status", statusOf(before), statusOf(after))...)
	if len(changes) == 0 {
		return nil, "changed nothing but metadata.managedFields"
	}
	return changes, ""
}

func statusOf(obj runtime.Object) any {
	content, err := object.Content(obj)
	if err != nil {
		return nil
	}
	return content["status"]
}

// statusChanges are the paths where two values of a status differ. Items of a list are
// named by their type or name, if all have one, and else by their index.
func statusChanges(path string, before, after any) []ensure.Change {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	inBefore, inAfter, ok := members(path, before, after)
	if !ok {
		return []ensure.Change{{Path: path, Old: shown(before), New: shown(after)}}
	}
	var changes []ensure.Change
	all := maps.Clone(inBefore)
	maps.Copy(all, inAfter)
	for _, inner := range slices.Sorted(maps.Keys(all)) {
		changes = append(changes, statusChanges(inner, inBefore[inner], inAfter[inner])...)
	}
	if len(changes) == 0 { // the order of the items, or one of two with the same key
		return []ensure.Change{{Path: path}}
	}
	return changes
}

// members are the parts of two maps, or of two lists, by their paths; a part that only one
// of them has is not looked into.
func members(path string, before, after any) (inBefore, inAfter map[string]any, ok bool) {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		return membersOf(path, b), membersOf(path, a), ok
	case []any:
		a, ok := after.([]any)
		key := keyOf(slices.Concat(b, a))
		return itemsOf(path, key, b), itemsOf(path, key, a), ok
	}
	return nil, nil, false
}

func membersOf(path string, m map[string]any) map[string]any {
	inner := map[string]any{}
	for name, value := range m {
		inner[path+"."+name] = value
	}
	return inner
}

func itemsOf(path, key string, list []any) map[string]any {
	inner := map[string]any{}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if m, ok := item.(map[string]any); ok && key != "" {
			at = fmt.Sprintf("%s[%s=%s]", path, key, m[key])
		}
		inner[at] = item
	}
	return inner
}

// keyOf is the member by which the items can be told apart, or empty.
func keyOf(items []any) string {
	for _, key := range []string{"type", "name"} {
		lacks := func(item any) bool {
			m, _ := item.(map[string]any)
			text, _ := m[key].(string)
			return text == ""
		}
		if !slices.ContainsFunc(items, lacks) {
			return key
		}
	}
	return ""
}

// shown returns the text of a value that cannot be a secret, and else an empty text.
func shown(value any) string {
	switch value.(type) {
	case bool, int64, float64:
		return fmt.Sprint(value)
	}
	return ""
}
