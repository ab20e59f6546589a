package ensure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
)

// A refused update is judged by a dry run of a create: only if that shows desired to
// be fine is live repaired, or called immutable.
func TestARefusedUpdateIsJudged(t *testing.T) {
	invalid := func(fields ...string) error {
		var causes []metav1.StatusCause
		for _, field := range fields {
			causes = append(causes, cause(metav1.CauseTypeFieldValueInvalid, field))
		}
		return status(422, metav1.StatusReasonInvalid, causes...)
	}
	const jsonPatch = "patch application/json-patch+json" // one for the leftovers, one for the managed fields
	repaired := []string{"get", "apply", "dry run", jsonPatch, jsonPatch, "apply"}
	for name, tc := range map[string]struct {
		reason         string
		update, dryRun error
		rest           []error
		class          error
		verbs          []string
	}{
		"the dry run passes": {
			"leftovers are at fault", invalid("spec.ports[1].port"), nil, nil, nil, repaired,
		},
		"the dry run is refused for other fields": {
			"they are taken by live itself", invalid("spec.ports[1].port"), invalid("spec.clusterIP"), nil, nil, repaired,
		},
		"the dry run is refused for the same field": {
			"desired is invalid", invalid("spec.ports[1].port"), invalid("spec.ports[1].port", "spec.clusterIP"), nil,
			ensure.ErrInvalid, repaired[:3],
		},
		"the dry run is refused by a policy": {
			"nothing is known", invalid("spec.ports[1].port"), invalid(""), nil, ensure.ErrInvalid, repaired[:3],
		},
		"the dry run is not allowed": {
			"nothing is known", invalid("spec.ports[1].port"), status(403, metav1.StatusReasonForbidden), nil, ensure.ErrInvalid, repaired[:3],
		},
		"the server is overloaded": {
			"nothing is known", invalid("spec.ports[1].port"), status(504, metav1.StatusReasonTimeout), nil, ensure.ErrInvalid, repaired[:3],
		},
		"a policy refuses the update": {
			"its cause names no field", invalid("spec.ports[1].port", ""), nil, nil, ensure.ErrInvalid, repaired[:2],
		},
		"the metadata is refused": {
			"no leftover is there", invalid("metadata.labels"), nil, nil, ensure.ErrInvalid, repaired[:2],
		},
		"only spec is named": {
			"replacing it would take others' fields along", invalid("spec"), nil, nil, ensure.ErrImmutable, repaired[:3],
		},
		"a map of others' keys is named": {
			"likewise", invalid("spec.selector[app]"), nil, nil, ensure.ErrImmutable, repaired[:3],
		},
		"the repair is refused": {
			"no update can change it", invalid("spec.ports"), nil, []error{invalid("spec.ports")}, ensure.ErrImmutable, repaired[:4],
		},
		"the apply after it is refused": {
			"likewise", invalid("spec.ports"), nil, []error{nil, nil, invalid("spec.ports")}, ensure.ErrImmutable, repaired,
		},
		"a webhook refuses the repair": {
			"it names no cause, as a failed test does not", invalid("spec.ports"), nil,
			[]error{quoting("admission webhook \"w\" denied the request", 422, metav1.StatusReasonInvalid)},
			ensure.ErrInvalid, repaired[:4],
		},
		"the repair is not allowed": {
			"another failure", invalid("spec.ports"), nil, []error{status(403, metav1.StatusReasonForbidden)}, ensure.ErrAPI, repaired[:4],
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, service())
			desired := with(service(), func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 })
			s.answers = append([]error{tc.update, tc.dryRun}, tc.rest...)
			result, err := ensure.Object(t.Context(), newEnsurer(s), desired)
			if tc.class == nil {
				require.NoError(t, err, tc.reason)
				require.Equal(t, ensure.Updated, result.Operation)
			} else {
				require.ErrorIs(t, err, tc.class, tc.reason)
			}
			require.Empty(t, cmp.Diff(tc.verbs, s.verbs()))
		})
	}
}

func TestImmutableNamesOurPaths(t *testing.T) {
	s := newServer()
	created(t, s, service())
	s.answers = []error{status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeForbidden, "spec"))}
	_, err := ensure.Object(t.Context(), newEnsurer(s), with(service(), func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeNodePort }))

	var immutable *ensure.Error
	require.ErrorAs(t, err, &immutable)
	require.Equal(t, "Immutable", ensure.Reason(err))
	require.Contains(t, immutable.Paths, "spec.type", "the server often names only spec")
	require.NotContains(t, err.Error(), secret)
}
