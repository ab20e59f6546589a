package ensure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// What the server does with entries of other versions is tried on a real one, in
// test/suites/ensure/versions. Here are its answers, and failures in the midst.

const unconvertible = ".spec.unit: field not declared in schema"

// An outdated server has a ConfigMap with an entry of another API version, and answers patches
// with the given errors; nil is success, and so is what comes after them.
type outdated struct {
	*apiServer

	loses   bool // managed fields, with the next write
	answers []error
	readErr error // of reads after the first patch
	patches []string
}

func newOutdated(t *testing.T) *outdated {
	t.Helper()
	s := newServer()
	created(t, s, configMap())
	return &outdated{apiServer: s}
}

func (o *outdated) client() client.Client {
	return interceptor.NewClient(o.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			if len(o.patches) > 0 && o.readErr != nil {
				return o.readErr
			}
			return o.show(ctx, key, obj)
		},
		Patch: func(ctx context.Context, below client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			verb := map[types.PatchType]string{types.ApplyPatchType: "apply", types.JSONPatchType: "patch"}[patch.Type()]
			isTrial := len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0
			if isTrial {
				verb += " (dry run)"
			}
			o.patches = append(o.patches, verb)
			if len(o.answers) > 0 {
				err := o.answers[0]
				o.answers = o.answers[1:]
				if err != nil {
					return err
				}
			}
			if patch.Type() == types.ApplyPatchType {
				return below.Patch(ctx, obj, patch, opts...)
			}
			if err := o.show(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			if isTrial && o.loses {
				obj.SetManagedFields(nil)
			}
			return nil
		},
	})
}

func (o *outdated) show(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	if err := o.peek(ctx, key, obj); err != nil {
		return err
	}
	obj.SetManagedFields(append(obj.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: "controller", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v0", Subresource: "status",
		FieldsType: "FieldsV1", FieldsV1: managedfields.NewFields(`{"f:status":{"f:phase":{}}}`),
	}))
	return nil
}

func (o *outdated) ensure(t *testing.T, opts ...ensure.Option) (ensure.Result[*corev1.ConfigMap], error) {
	t.Helper()
	c := o.client()
	changed := with(configMap(), func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"color": "red"} })
	return ensure.Object(t.Context(), ensure.New(c, c, fieldOwner), changed, opts...)
}

func TestVersionsThatTheServerCannotConvertTo(t *testing.T) {
	mended := []string{"apply", "patch", "apply"}
	for name, tc := range map[string]struct {
		answer  error
		patches []string
	}{
		"a field":           {quoting(unconvertible, 500, ""), mended},
		"several fields":    {quoting("errors:\n  .spec.unit: field not declared in schema\n  .spec.x: expected string, got "+secret, 500, ""), mended},
		"a version is gone": {quoting("request to convert CR to an invalid group/version: example.com/v0", 500, ""), mended},
		"the new object":    {quoting("failed to convert new object: "+unconvertible, 500, ""), mended},
		"our last apply": {
			quoting("failed to prune fields: failed to convert merged object to last applied version: "+unconvertible, 500, ""), mended,
		},
		"others' items": {
			quoting("failed to prune fields: failed add back owned items: failed to convert pruned object at version example.com/v0: "+
				unconvertible, 500, ""), mended,
		},
		"our own version": {
			quoting("failed to create typed live object (default/settings; example.com/v1, Kind=Dial): .spec.size: expected string", 500, ""),
			[]string{"apply"},
		},
		"a merge":                 {quoting("failed to merge config: .spec.x: duplicate", 500, ""), []string{"apply"}},
		"a webhook out of reach":  {quoting("conversion webhook for example.com/v1 failed: Post", 500, ""), []string{"apply"}},
		"a failure with a reason": {quoting(unconvertible, 500, metav1.StatusReasonInternalError), []string{"apply"}},
		"no answer":               {errors.New(unconvertible), []string{"apply"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutdated(t)
			o.answers = []error{tc.answer}
			result, err := o.ensure(t)
			require.Empty(t, cmp.Diff(tc.patches, o.patches))
			if len(tc.patches) == 1 {
				require.Error(t, err)
				require.NotContains(t, err.Error(), secret)
				return
			}
			require.NoError(t, err)
			require.Equal(t, ensure.Updated, result.Operation)
			require.Equal(t, "red", live(t, o.apiServer, configMap()).Data["color"])
		})
	}
}

// TestVersionsFail has requests fail in the midst: each error is returned, and nothing is sent
// after it.
func TestVersionsFail(t *testing.T) {
	down := quoting(secret, 503, metav1.StatusReasonServiceUnavailable)
	refused := quoting(unconvertible, 500, "")
	invalid := status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "data"))
	release := ensure.Release("data[shape]")
	for name, tc := range map[string]struct {
		answers []error
		readErr error
		opts    []ensure.Option
		patches []string
	}{
		"the read":                {[]error{refused}, down, nil, []string{"apply"}},
		"the patch":               {[]error{refused, down}, nil, nil, []string{"apply", "patch"}},
		"the second apply":        {[]error{refused, nil, down}, nil, nil, []string{"apply", "patch", "apply"}},
		"the read of a dry run":   {[]error{refused}, down, []ensure.Option{ensure.DryRun()}, []string{"apply (dry run)"}},
		"the fields of a dry run": {[]error{refused, down}, nil, []ensure.Option{ensure.DryRun()}, []string{"apply (dry run)", "apply (dry run)"}},
		"the trial of a dry run": {
			[]error{refused, refused, down},
			nil,
			[]ensure.Option{ensure.DryRun()},
			[]string{"apply (dry run)", "apply (dry run)", "patch (dry run)"},
		},
		"the trial before a patch":      {[]error{down}, nil, []ensure.Option{release}, []string{"patch (dry run)"}},
		"the apply before a patch":      {[]error{nil, down}, nil, []ensure.Option{release}, []string{"patch (dry run)", "apply (dry run)"}},
		"the patch before a patch":      {[]error{nil, refused, down}, nil, []ensure.Option{release}, []string{"patch (dry run)", "apply (dry run)", "patch"}},
		"the same, with fields refused": {[]error{nil, invalid, down}, nil, []ensure.Option{release}, []string{"patch (dry run)", "apply (dry run)", "patch"}},
		"the trial before a repair":     {[]error{invalid, down}, nil, nil, []string{"apply", "patch (dry run)"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutdated(t)
			o.loses, o.answers, o.readErr = true, tc.answers, tc.readErr
			_, err := o.ensure(t, tc.opts...)
			require.Equal(t, "ServiceUnavailable", ensure.Reason(err), "%v", err)
			require.Empty(t, cmp.Diff(tc.patches, o.patches))
			require.Equal(t, "blue", live(t, o.apiServer, configMap()).Data["color"])
		})
	}
}

// TestVersionsThatNothingTells: a webhook may take no dry runs.
func TestVersionsThatNothingTells(t *testing.T) {
	o := newOutdated(t)
	o.answers = []error{status(400, metav1.StatusReasonBadRequest)}
	_, err := o.ensure(t, ensure.Release("data[shape]"))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]string{"patch (dry run)", "patch", "apply"}, o.patches))
}

// TestVersionsOfOurs: there is nothing to rewrite where all entries are of our version.
func TestVersionsOfOurs(t *testing.T) {
	for _, more := range []struct {
		opts  []ensure.Option
		verbs []string
	}{{nil, []string{"get", "apply", "get"}}, {[]ensure.Option{ensure.DryRun()}, []string{"get", "apply", "get", "fields"}}} {
		s := newServer()
		created(t, s, configMap())
		s.answers = []error{quoting(unconvertible, 500, "")}
		changed := with(configMap(), func(cm *corev1.ConfigMap) { cm.Data["color"] = "red" })
		_, err := ensure.Object(t.Context(), newEnsurer(s), changed, more.opts...)
		require.ErrorIs(t, err, ensure.ErrAPI)
		require.Empty(t, cmp.Diff(more.verbs, s.verbs()))
	}
}

// TestDryRunOfVersions: what a dry run cannot rewrite it tries without.
func TestDryRunOfVersions(t *testing.T) {
	o := newOutdated(t)
	o.answers = []error{quoting(unconvertible, 500, ""), quoting(unconvertible, 500, "")}
	_, err := o.ensure(t, ensure.DryRun())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]string{"apply (dry run)", "apply (dry run)", "patch (dry run)"}, o.patches))

	o = newOutdated(t)
	invalid := status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "data"))
	o.answers = []error{quoting(unconvertible, 500, ""), invalid, invalid, invalid, invalid}
	_, err = o.ensure(t, ensure.DryRun())
	require.ErrorIs(t, err, ensure.ErrInvalid)
}
