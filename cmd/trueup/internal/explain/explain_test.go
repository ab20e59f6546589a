package explain_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trueup-go/trueup/cmd/trueup/internal/explain"
)

func textOf(t *testing.T, layout explain.Layout, report *explain.Report) string {
	t.Helper()
	layout.Now = now
	var text strings.Builder
	require.NoError(t, layout.Text(&text, report))
	return text.String()
}

func jsonOf(t *testing.T, report *explain.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(report, "", "  ")
	require.NoError(t, err)
	return string(text) + "\n"
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		object string
		opts   explain.Options
		layout explain.Layout
	}{
		"deployment": {
			reason: "subtrees of one manager are folded, other fields have their value, and shared ones their other owners",
			object: "deployment.yaml",
		},
		"deployment-expanded": {
			reason: "every field is listed, and defaults that nobody owns",
			object: "deployment.yaml", opts: explain.Options{Unowned: true}, layout: explain.Layout{Expand: true},
		},
		"deployment-named": {
			reason: "a field owner without a digest is reported if it is named",
			object: "deployment.yaml", opts: explain.Options{FieldManager: "team-labels"},
		},
		"deployment-masked": {reason: "no value is shown, except for digests", object: "deployment.yaml", opts: explain.Options{Mask: true}},
		"secret":            {reason: "no content is shown, also not that which an annotation quotes", object: "secret.yaml", opts: explain.Options{Unowned: true}},
		"stripped":          {reason: "without managed fields, the report says so", object: "stripped.yaml"},
		"clusterrole":       {reason: "a cluster-scoped object has no namespace, and a list that is replaced as a whole is one field", object: "clusterrole.yaml"},
		"custom": {
			reason: "paths of another version may be absent, one manager with two versions shares nothing, and a terminal sees no control characters",
			object: "custom.yaml", opts: explain.Options{Unowned: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(c.reason)
			report := explain.Of(read(t, c.object), c.opts)
			requireGolden(t, name+".txt", textOf(t, c.layout, report))
			requireGolden(t, name+".json", jsonOf(t, report))
		})
	}
}

func TestNoReportContainsASecret(t *testing.T) {
	t.Parallel()
	live := read(t, "secret.yaml")
	result := live.DeepCopy()
	require.NoError(t, unstructured.SetNestedField(result.Object, "Y2hhbmdlZA==", "data", "password"))
	require.NoError(t, unstructured.SetNestedField(result.Object, "bmV3", "data", "token"))
	unstructured.RemoveNestedField(result.Object, "data", "user")
	result.SetAnnotations(map[string]string{"note": "changed"})

	report := explain.Of(live, explain.Options{Unowned: true})
	report.DryRun = explain.NewDryRun(live, result, explain.Options{FieldManager: "website-operator"})
	text := textOf(t, explain.Layout{Expand: true}, report) + jsonOf(t, report)
	for _, secret := range []string{"hunter2", "aHVudGVyMg", "d2Vi", "Y2hhbmdlZA", "bmV3", `"changed"\n`} {
		require.NotContains(t, text, secret)
	}
	kinds := map[string]string{}
	for _, change := range report.DryRun.Changes {
		require.True(t, change.Masked || strings.Contains(change.Path, "spec-hash"), change.Path)
		kinds[change.Path] = change.Kind
	}
	require.Equal(t, map[string]string{
		"data.password": "changed", "data.token": "added", "data.user": "removed", "metadata.annotations.note": "added",
		"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]": "removed",
		"metadata.annotations[spec-hash.trueup-go.github.io/website-operator]":   "removed",
	}, kinds)
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	live, opts := read(t, "deployment.yaml"), explain.Options{FieldManager: "website-operator"}
	for name, result := range map[string]*unstructured.Unstructured{
		"dryrun": read(t, "deployment-result.yaml"), "dryrun-unchanged": live,
	} {
		report := explain.Of(live, opts)
		report.DryRun = explain.NewDryRun(live, result, opts)
		requireGolden(t, name+".txt", textOf(t, explain.Layout{}, report))
		requireGolden(t, name+".json", jsonOf(t, report))
	}
}

func TestDryRunThatCreates(t *testing.T) {
	t.Parallel()
	desired := read(t, "clusterrole.yaml")
	report := explain.Missing(desired)
	report.DryRun = explain.NewDryRun(nil, desired, explain.Options{FieldManager: "website-operator"})
	require.Equal(t, `ClusterRole reader (rbac.authorization.k8s.io/v1) does not exist

Dry run of an apply by website-operator
    creates the object
`, textOf(t, explain.Layout{}, report))
}

// Lists with keys are compared item by item, and other lists as a whole.
func TestChangesOfLists(t *testing.T) {
	t.Parallel()
	live := read(t, "deployment.yaml")
	for name, c := range map[string]struct {
		reason string
		fields []string
		value  any
		want   []explain.Change
	}{
		"new item": {
			"an item is found by its key, whatever its place",
			[]string{"ports"},
			[]any{map[string]any{"containerPort": int64(1), "protocol": "TCP"}, map[string]any{"containerPort": int64(8080), "name": "http", "protocol": "TCP"}},
			[]explain.Change{{
				Kind: "added", Path: "spec.template.spec.containers[name=web].ports[containerPort=1,protocol=TCP]",
				New: map[string]any{"containerPort": int64(1), "protocol": "TCP"},
			}},
		},
		"same key twice": {
			"keys that are not unique name no item",
			[]string{"env"},
			[]any{map[string]any{"name": "LEVEL", "value": "info"}, map[string]any{"name": "LEVEL", "value": "debug"}},
			[]explain.Change{{
				Kind: "changed", Path: "spec.template.spec.containers[name=web].env",
				Old: []any{map[string]any{"name": "LEVEL", "value": "info"}},
				New: []any{map[string]any{"name": "LEVEL", "value": "info"}, map[string]any{"name": "LEVEL", "value": "debug"}},
			}},
		},
		"list without keys": {
			"no manager owns an item, so that the list is one value",
			[]string{"args"},
			[]any{"serve"},
			[]explain.Change{{Kind: "added", Path: "spec.template.spec.containers[name=web].args", New: []any{"serve"}}},
		},
		"null": {
			"null is a value",
			[]string{"image"},
			nil,
			[]explain.Change{{
				Kind: "changed", Path: "spec.template.spec.containers[name=web].image",
				Old: "registry.example.com/web:1.4.2", New: json.RawMessage("null"),
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := live.DeepCopy()
			containers, _, err := unstructured.NestedSlice(result.Object, "spec", "template", "spec", "containers")
			require.NoError(t, err)
			container, _ := containers[0].(map[string]any)
			require.NoError(t, unstructured.SetNestedField(container, c.value, c.fields...))
			require.NoError(t, unstructured.SetNestedSlice(result.Object, containers, "spec", "template", "spec", "containers"))
			run := explain.NewDryRun(live, result, explain.Options{FieldManager: "website-operator"})
			if diff := cmp.Diff(c.want, run.Changes); diff != "" {
				t.Errorf("%s (-want +got): %s", c.reason, diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	invalid := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: `X "x" is invalid: data[password]: Invalid value: "hunter2": too short`,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[password]", Message: `Invalid value: "hunter2": too short`},
		}},
	}}
	for name, c := range map[string]struct {
		reason, object string
		mask           bool
		want           explain.Refusal
	}{
		"config map": {"the message names the value", "stripped.yaml", false, explain.Refusal{Message: `data[password]: Invalid value: "hunter2": too short`, Paths: []string{"data[password]"}}},
		"secret":     {"the message would show the value", "secret.yaml", false, explain.Refusal{Message: `data[password] (FieldValueInvalid)`, Paths: []string{"data[password]"}}},
		"masked":     {"the same for all kinds", "stripped.yaml", true, explain.Refusal{Message: `data[password] (FieldValueInvalid)`, Paths: []string{"data[password]"}}},
	} {
		live := read(t, c.object)
		run, refused := explain.NewRefusal(invalid, live, explain.Options{FieldManager: "website-operator", Mask: c.mask})
		require.True(t, refused, name)
		if diff := cmp.Diff(c.want, *run.Refused); diff != "" {
			t.Errorf("%s: %s (-want +got): %s", name, c.reason, diff)
		}
		report := explain.Of(live, explain.Options{})
		report.DryRun = run
		require.Contains(t, textOf(t, explain.Layout{}, report), "    refused  "+c.want.Message+"\n", name)
	}
	_, refused := explain.NewRefusal(errors.New("connection refused"), read(t, "stripped.yaml"), explain.Options{})
	require.False(t, refused, "no API server answered")
}

// A file has the fields that an operator decides. The dry run adds the marks that trueup adds.
func TestStamp(t *testing.T) {
	t.Parallel()
	live := read(t, "deployment.yaml")
	const digest = "spec-hash.trueup-go.github.io/website-operator"
	bare := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web"}}}
	}

	desired := bare()
	require.Equal(t, []string{"metadata.annotations[" + digest + "]", "metadata.ownerReferences[uid=u1]"},
		explain.Stamp(desired, live, explain.Options{FieldManager: "website-operator"}))
	require.Equal(t, live.GetAnnotations()[digest], desired.GetAnnotations()[digest])
	require.Len(t, desired.GetOwnerReferences(), 1, "that of another owner is left out")
	require.Empty(t, explain.Stamp(desired, live, explain.Options{FieldManager: "website-operator"}), "desired has all marks")

	other := bare()
	require.Empty(t, explain.Stamp(other, live, explain.Options{FieldManager: "team-labels"}))
	require.Equal(t, bare(), other, "the object has no digest of this field owner")
}
