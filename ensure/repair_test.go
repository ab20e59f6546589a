package ensure_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// invalid is an answer that says what is wrong with these fields.
func invalid(fields ...string) error {
	var causes []metav1.StatusCause
	for _, field := range fields {
		causes = append(causes, cause(metav1.CauseTypeFieldValueInvalid, field))
	}
	return status(422, metav1.StatusReasonInvalid, causes...)
}

// edited is a server with our Service, whose port somebody moved to 81. What the server would
// refuse in earnest has to be said in its answers.
func edited(t *testing.T, answers ...error) *apiServer {
	t.Helper()
	s := newServer()
	created(t, s, service())
	s.edit(t, service(), `{"spec":{"ports":[{"name":"http","port":81,"protocol":"TCP"}]}}`)
	s.answers = answers
	return s
}

// A refused apply is judged: only what was shown to be in its way is removed.
func TestARefusedApplyIsJudged(t *testing.T) {
	refusal := invalid("spec.ports[1].name")
	repaired := []string{"get", "apply", "get", "fields", "trial", entryPatch, "apply"}
	tried := []string{"get", "apply", "get", "fields", "trial"}
	judged := []string{"get", "apply", "get", "fields", "trial", "dry run"}
	for name, tc := range map[string]struct {
		why     string
		answers []error
		class   error
		verbs   []string
	}{
		"without the obstacle it is valid":        {"so it goes", []error{refusal}, nil, repaired},
		"it is not, for the same field":           {"and a new object would be: live cannot be changed so", []error{refusal, refusal}, ensure.ErrImmutable, judged},
		"nor would a new object be":               {"desired is invalid", []error{refusal, refusal, refusal}, ensure.ErrInvalid, judged},
		"nor a new object, for another field too": {"likewise", []error{refusal, refusal, invalid("spec.ports[1].name", "spec.clusterIP")}, ensure.ErrInvalid, judged},
		"a new one only for another field":        {"which live itself has", []error{refusal, refusal, invalid("spec.clusterIP")}, ensure.ErrImmutable, judged},
		"a new one, a policy says":                {"nothing is known", []error{refusal, refusal, invalid("")}, ensure.ErrInvalid, judged},
		"a new one may not be made":               {"nothing is known", []error{refusal, refusal, status(403, metav1.StatusReasonForbidden)}, ensure.ErrInvalid, judged},
		"the server is too busy to create one":    {"nothing is known", []error{refusal, refusal, status(504, metav1.StatusReasonTimeout)}, ensure.ErrInvalid, judged},
		"it is not, for other fields":             {"what was left out was needed", []error{refusal, invalid("spec.type")}, ensure.ErrInvalid, tried},
		"a policy refuses the trial":              {"it may not be so", []error{refusal, status(403, metav1.StatusReasonForbidden)}, ensure.ErrAPI, tried},
		"a webhook refuses the trial": {
			"it names no cause, as a failed test does not",
			[]error{refusal, quoting("admission webhook \"w\" denied the request", 422, metav1.StatusReasonInvalid)},
			ensure.ErrInvalid, tried,
		},
		"the server is too busy for a trial": {"a later pass goes on", []error{refusal, status(504, metav1.StatusReasonTimeout)}, ensure.ErrAPI, tried},
		"a policy refuses the apply":         {"its cause names no field", []error{invalid("spec.ports[1].name", "")}, ensure.ErrInvalid, tried[:2]},
		"the metadata is refused":            {"nobody's content is in its way", []error{invalid("metadata.labels")}, ensure.ErrInvalid, tried[:2]},
		"the obstacle may not be taken over": {"a permission is missing", []error{refusal, nil, status(403, metav1.StatusReasonForbidden)}, ensure.ErrAPI, repaired[:6]},
		"the last apply fails": {
			"what was taken is given back",
			[]error{refusal, nil, nil, status(500, metav1.StatusReasonInternalError)},
			ensure.ErrAPI,
			append(slices.Clone(repaired), entryPatch),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := edited(t, tc.answers...)
			result, err := ensure.Object(t.Context(), newEnsurer(s), service())
			if tc.class == nil {
				require.NoError(t, err, tc.why)
				require.Equal(t, ensure.Updated, result.Operation)
				require.Equal(t, service().Spec.Ports[0].Port, result.Live.Spec.Ports[0].Port)
				require.Len(t, result.Live.Spec.Ports, 1)
			} else {
				require.ErrorIs(t, err, tc.class, tc.why)
			}
			require.Empty(t, cmp.Diff(tc.verbs, s.verbs()))
		})
	}
}

// Whoever lost something to a repair is named.
func TestARepairNamesManagers(t *testing.T) {
	s := edited(t, invalid("spec.ports[1].name"))
	result := mustEnsure(t, newEnsurer(s), service())
	at := slices.IndexFunc(result.Changes, func(change ensure.Change) bool { return change.Manager != "" })
	require.GreaterOrEqual(t, at, 0, "%v", result.Changes)
	require.Equal(t, "kubectl-edit", result.Changes[at].Manager)
	require.Contains(t, result.Changes[at].String(), "(set by kubectl-edit)")
	require.Equal(t, []string{fieldOwner + " Apply"}, managers(result.Live))
}

// Another process repairs the object while the API server refuses our apply. What was refused says nothing any more: neither
// that desired is invalid, nor that the object has to be recreated.
func TestARefusalThatIsOver(t *testing.T) {
	s := edited(t, invalid("spec.ports[1].name"))
	s.before = func(verb string) {
		if verb == "apply" {
			s.before = nil
			s.edit(t, service(), `{"spec":{"ports":[{"name":"http","port":80,"protocol":"TCP"}]}}`)
		}
	}
	result := mustEnsure(t, newEnsurer(s), service(), ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift))
	require.Contains(t, []ensure.Operation{ensure.Updated, ensure.Unchanged}, result.Operation)
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "fields", "apply"}, s.verbs()), "the apply is sent once more")
}

// A port that somebody adds meanwhile stays, also if it comes between the trial and the patch.
func TestARepairBesideOtherWriters(t *testing.T) {
	addPort := `{"spec":{"ports":[{"name":"metrics","port":9090,"protocol":"TCP"},{"name":"http","port":81,"protocol":"TCP"}]}}`
	refusal := invalid("spec.ports[1].name")
	for moment, answers := range map[string][]error{"apply": {refusal, refusal, nil, refusal}, "trial": {refusal}, entryPatch: {refusal}} {
		t.Run(moment, func(t *testing.T) {
			s := edited(t, answers...)
			s.before = func(verb string) {
				if verb == moment {
					s.before = nil
					s.edit(t, service(), addPort)
				}
			}
			result := mustEnsure(t, newEnsurer(s), service())
			require.Len(t, result.Live.Spec.Ports, 2)
			require.True(t, slices.ContainsFunc(result.Live.Spec.Ports, func(port corev1.ServicePort) bool { return port.Port == 9090 }))
			require.True(t, slices.ContainsFunc(result.Live.Spec.Ports, func(port corev1.ServicePort) bool { return port.Port == 80 }))
		})
	}
	t.Run("the obstacle itself is changed", func(t *testing.T) {
		s := edited(t, refusal, nil, nil, refusal)
		s.before = func(verb string) {
			if verb == entryPatch {
				s.before = nil
				s.edit(t, service(), `{"spec":{"ports":[{"name":"http","port":81,"protocol":"TCP","nodePort":30000}]}}`)
			}
		}
		mustEnsure(t, newEnsurer(s), service())
		once := []string{"apply", "get", "fields", "trial", entryPatch}
		require.Empty(t, cmp.Diff(slices.Concat([]string{"get"}, once, []string{"get", "fields", "get"}, once, []string{"apply"}), s.verbs()), "it is tried as it is now")
	})
	t.Run("nobody gets a word in", func(t *testing.T) {
		answers := []error{refusal, nil}
		for range 5 {
			answers = append(answers, conflict())
		}
		s := edited(t, append(answers, refusal, status(500, metav1.StatusReasonInternalError))...)
		_, err := ensure.Object(t.Context(), newEnsurer(s), service())
		require.ErrorIs(t, err, ensure.ErrAPI)
		require.Equal(t, int32(81), live(t, s, service()).Spec.Ports[0].Port)
	})
}

// What was taken over is given back if it was of no use.
func TestARefusalAfterARepair(t *testing.T) {
	s := edited(t, invalid("spec.ports[1].name"), nil, nil, invalid("spec.ports"))
	before := live(t, s, service())
	_, err := ensure.Object(t.Context(), newEnsurer(s), service())
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "fields", "trial", entryPatch, "apply", entryPatch}, s.verbs()))
	after := live(t, s, service())
	require.ElementsMatch(t, managers(before), managers(after))
	for i, entry := range before.GetManagedFields() {
		require.Equal(t, string(managedfields.Raw(entry.FieldsV1)), string(managedfields.Raw(after.GetManagedFields()[i].FieldsV1)))
	}
}

// A dry run stores nothing and tells what would be removed, and whose it is.
func TestADryRunOfARepair(t *testing.T) {
	s := edited(t, invalid("spec.ports[1].name"))
	before := live(t, s, service())
	result := mustEnsure(t, newEnsurer(s), service(), ensure.DryRun())
	require.Equal(t, ensure.Updated, result.Operation)
	require.True(t, slices.ContainsFunc(result.Changes, func(change ensure.Change) bool { return change.Manager == "kubectl-edit" }), "%v", result.Changes)
	require.Empty(t, cmp.Diff(before, live(t, s, service())))
}

// What others apply is theirs to remove.
func TestARepairStopsAtAnotherApply(t *testing.T) {
	s := newServer()
	created(t, s, service())
	s.applyAs(t, "flux", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},"spec":{"externalTrafficPolicy":"Local"}}`)
	desired := with(service(), func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	s.answers = []error{invalid("spec.externalTrafficPolicy")}
	_, err := ensure.Object(t.Context(), newEnsurer(s), desired, ensure.Recreate(metav1.DeletePropagationBackground))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, "spec.externalTrafficPolicy, which flux sets")
	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []string{"spec.externalTrafficPolicy"}, failed.Paths)
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "fields", "trial"}, s.verbs()))
}

// applyAs is a server-side apply by another program.
func (s *apiServer) applyAs(t *testing.T, owner, body string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := service()
	require.NoError(t, s.commit(t.Context(), out, func() error {
		return s.fake.Patch(t.Context(), out, client.RawPatch("application/apply-patch+yaml", []byte(body)), client.FieldOwner(owner))
	}))
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
	require.EqualError(t, err, `cannot apply Service "default/web": Immutable: an existing object cannot be changed like this: `+
		`spec: Invalid value: "hunter2": is wrong; desired differs in `+strings.Join(immutable.Paths, ", ")+`; delete the object so that it is created again`)
}
