package explain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/cmd/trueup/internal/explain"
)

// vault has a set and a list with keys. Two managers share one item of the set.
const vault = `{apiVersion: example.com/v1, kind: Vault, metadata: {name: x, managedFields: [
	{manager: a, operation: Update, apiVersion: example.com/v1, fieldsV1: {"f:spec": {
		"f:tokens": {'v:"first"': {}, 'v:"second"': {}}, "f:places": {"i:0": {}}, "f:names": {"f:third": {}},
		"f:users": {'k:{"name":"first"}': {.: {}, "f:age": {}}, 'k:{"name":"second"}': {.: {}, "f:age": {}}}}}},
	{manager: b, operation: Update, apiVersion: example.com/v1, fieldsV1: {"f:spec": {"f:tokens": {'v:"second"': {}}}}}]},
	spec: {tokens: [first, second], places: [x], names: {third: x}, users: [{name: first, age: 1}, {name: second, age: 2}]}}`

// Masked paths may look alike. Each stays an entry of its own, with its own owners.
func TestMaskedPathsAreNotMerged(t *testing.T) {
	t.Parallel()
	report := explain.Of(parse(t, vault), explain.Options{Mask: true})
	var paths []string
	owners := map[string]int{}
	for _, field := range report.Managers[0].Fields {
		paths = append(paths, field.Path)
		owners[field.Path] += len(field.AlsoOwnedBy)
	}
	require.Empty(t, cmp.Diff([]string{
		"spec.names.third", "spec.places[0]", "spec.tokens[***]", "spec.tokens[***]", "spec.users[name=***].age", "spec.users[name=***].age",
	}, paths))
	require.Equal(t, 1, owners["spec.tokens[***]"])
	require.Empty(t, cmp.Diff([]explain.Shared{{Path: "spec.tokens[***]", Owners: []string{"a Update", "b Update"}}}, report.Shared))
	require.Contains(t, textOf(t, explain.Layout{}, report), `
    spec.names.third          (masked)
    spec.places[0]            (masked)
    spec.tokens[***]          (masked)
  * spec.tokens[***]          (masked)  also b Update
    spec.users[name=***].age  (masked)
    spec.users[name=***].age  (masked)
`)
}
