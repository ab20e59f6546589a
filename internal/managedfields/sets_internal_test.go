package managedfields

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/paths"
)

// This file reads ownership from sets: the slow way, from which reading the text must not differ.

// setsOwnsAt is as Owns for the steps of a path.
func setsOwnsAt(fields *fieldpath.Set, steps []string) bool {
	if len(steps) == 0 {
		return !fields.Empty()
	}
	for element := range fields.Members.All() {
		if mayBeStep(element, steps[0]) && (len(steps) == 1 || isWhole(fields, element)) {
			return true
		}
	}
	owned := false
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		if mayBeStep(element, steps[0]) {
			inside, _ := fields.Children.Get(element)
			owned = owned || setsOwnsAt(inside, steps[1:])
		}
	})
	return owned
}

// mayBeStep is as isStep, and takes the index of an item for any item.
func mayBeStep(element fieldpath.PathElement, step string) bool {
	isItem := element.Key != nil || element.Value != nil
	return isItem && isIndex(step) || isStep(element, step)
}

// isWhole reports whether a member is owned with its whole content.
func isWhole(fields *fieldpath.Set, member fieldpath.PathElement) bool {
	_, inParts := fields.Children.Get(member)
	return !inParts
}

// setsAt reports whether fields contain the place itself that steps lead to, and whether they contain one inside.
func setsAt(fields *fieldpath.Set, steps []string) (itself, inside bool) {
	for element := range fields.Members.All() {
		itself = itself || len(steps) == 1 && isStep(element, steps[0])
	}
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		if !isStep(element, steps[0]) {
			return
		}
		below, _ := fields.Children.Get(element)
		if len(steps) == 1 {
			inside = true
			return
		}
		isThere, isBelow := setsAt(below, steps[1:])
		itself, inside = itself || isThere, inside || isBelow
	})
	return itself, inside
}

// setsPartOf returns how many steps lead to a larger value of which the place at all steps is a part: a list or a map that
// fields have as a whole, or an item with more keys than its step names. It returns 0 if there is none.
func setsPartOf(fields *fieldpath.Set, steps []string) int {
	if len(steps) == 0 {
		return 0
	}
	for element := range fields.Members.All() {
		isOnTheWay := len(steps) > 1 && isStep(element, steps[0]) || setsIsHalfNamed(element, steps[0])
		if isOnTheWay && isWhole(fields, element) {
			return 1
		}
	}
	found := 0
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		inside, _ := fields.Children.Get(element)
		if setsIsHalfNamed(element, steps[0]) && setsOwnsAt(inside, steps[1:]) {
			found = max(found, 1)
		}
		if n := setsPartOf(inside, steps[1:]); n > 0 && isStep(element, steps[0]) {
			found = max(found, n+1)
		}
	})
	return found
}

// setsIsHalfNamed reports whether step names an item by some of its keys.
func setsIsHalfNamed(element fieldpath.PathElement, step string) bool {
	if element.Key == nil || isKey(*element.Key, paths.Keys(step)) {
		return false
	}
	found, wanted := value.FieldList{}, paths.Keys(step)
	for _, field := range *element.Key {
		if _, named := wanted[field.Name]; named {
			found = append(found, field)
		}
	}
	return len(found) > 0 && isKey(found, wanted)
}

// FuzzOwned compares what the text and the set of the same fields say about random places.
func FuzzOwned(f *testing.F) {
	for seed := range int64(2000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		source := rand.New(rand.NewSource(seed))
		set := fieldpath.NewSet()
		for range source.Intn(12) {
			set.Insert(randomPath(source))
		}
		text, err := set.ToJSON()
		require.NoError(t, err)
		entry := &metav1.ManagedFieldsEntry{FieldsV1: NewFields(string(text))}
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, text, "", " "))
		spaced := &metav1.ManagedFieldsEntry{FieldsV1: NewFields(indented.String())}
		require.True(t, set.Equals(Fields(entry)), "%s", text)
		indexed := OwnedBy(entry)
		indexed.index = &index{}
		for _, owned := range []Owned{OwnedBy(entry), OwnedBy(spaced), indexed} {
			requireSameAsSet(t, set, owned, source)
		}
	})
}

// FuzzText reads texts that no API server would write: a question has an answer, and never a panic.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		`{"f:a":{".":{},"k:{\"b\":1}":{"f:c":{}}}}`, `{"k:":{}}`, `{"v:":{}}`, `{"":{}}`, `{".":{"f:a":{}}}`, `{"v:\\":{}}`,
		`{"k:{":{},"\u0000":{}}`,
	} {
		f.Add([]byte(text), "a[b=1].c")
	}
	f.Add([]byte(`{"k:0":{}}`), "")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		owned := OwnedBy(&metav1.ManagedFieldsEntry{FieldsV1: NewFields(string(text))})
		indexed := owned
		indexed.index = &index{}
		steps := append(paths.Steps(path), "a")
		for range 2 {
			require.Equal(t, owned.OwnsAt(steps), indexed.OwnsAt(steps))
			require.Equal(t, owned.MergeRule(steps), indexed.MergeRule(steps))
			require.Equal(t, owned.PartOf(steps), indexed.PartOf(steps))
			steps = steps[len(steps)-1:]
		}
		require.Equal(t, owned.OwnsBeside("a"), indexed.OwnsBeside("a"))
		require.Empty(t, owned.Without(indexed))
	})
}

func requireSameAsSet(t *testing.T, set *fieldpath.Set, owned Owned, source *rand.Rand) {
	t.Helper()
	for range 20 {
		path := randomPath(source)
		steps := Steps(path)
		if source.Intn(3) == 0 { // half of the keys, or an index
			steps[source.Intn(len(steps))] = []string{"port=80", "0", "protocol=TCP,port=80", "name=a,x=y", "x"}[source.Intn(5)]
		}
		require.Equal(t, setsOwnsAt(set, steps), owned.OwnsAt(steps), "%s in %s", steps, owned.text)
		itself, inside := setsAt(set, steps)
		isThere, isBelow := owned.At(steps)
		require.Equal(t, []bool{itself, inside}, []bool{isThere, isBelow}, "%s in %s", steps, owned.text)
		require.Equal(t, setsPartOf(set, steps), owned.PartOf(steps), "%s in %s", steps, owned.text)
		require.Equal(t, Holds(set, path), owned.Holds(path), "%s in %s", path, owned.text)
		_, rest := Split(set, func(path fieldpath.Path) bool {
			return path[0].FieldName != nil && *path[0].FieldName == "metadata"
		})
		require.Equal(t, !rest.Empty(), owned.OwnsBeside("metadata"))
	}
	require.Equal(t, setsOwnsAt(set, nil), owned.OwnsAt(nil))
	other := fieldpath.NewSet(randomPath(source), randomPath(source))
	for path := range set.All() {
		if source.Intn(2) == 0 {
			other.Insert(path.Copy())
		}
	}
	text, err := other.ToJSON()
	require.NoError(t, err)
	found := owned.Without(OwnedBy(&metav1.ManagedFieldsEntry{FieldsV1: NewFields(string(text))}))
	require.True(t, set.Difference(other).Equals(fieldpath.NewSet(found...)), "%s without %s: %v", owned.text, text, found)
	require.Len(t, found, set.Difference(other).Size())
}

// randomPath returns a path of few names, so that paths meet.
func randomPath(source *rand.Rand) fieldpath.Path {
	var path fieldpath.Path
	for range 1 + source.Intn(4) {
		path = append(path, randomElement(source))
	}
	return path
}

func randomElement(source *rand.Rand) fieldpath.PathElement {
	switch source.Intn(6) {
	case 0:
		return fieldpath.PathElement{Key: fieldpath.KeyByFields("port", 80+source.Intn(2), "protocol", []string{"", "TCP"}[source.Intn(2)])}
	case 1:
		return fieldpath.PathElement{Key: fieldpath.KeyByFields("name", []string{"a", `q"uo\te`, "ünï\n", "a,x=y"}[source.Intn(4)])}
	case 2:
		scalar := value.NewValueInterface([]any{"a", "1", 1, true, `"`, "metadata"}[source.Intn(6)])
		return fieldpath.PathElement{Value: &scalar}
	case 3:
		return fieldpath.PathElement{Index: new(source.Intn(2))}
	}
	return fieldpath.PathElement{FieldName: new([]string{"metadata", "spec", "a", ".", "x:y", "naïve"}[source.Intn(6)])}
}
