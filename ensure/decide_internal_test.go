package ensure

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestDecide covers every decision of a pass.
func TestDecide(t *testing.T) {
	t.Parallel()
	live := situation{exists: true}
	with := func(of situation, changes ...func(*situation)) situation {
		for _, change := range changes {
			change(&of)
		}
		return of
	}
	claimed := with(live, func(s *situation) { s.knowsProvenance, s.mayWrite = true, true })
	unproven := with(claimed, func(s *situation) { s.isCompared = true })
	compared := with(unproven, func(s *situation) { s.isProven = true })
	for name, tc := range map[string]struct {
		reason string
		known  situation
		want   step
	}{
		"no object": {"desired is to exist", situation{}, toCreate},
		"no object, with IfExists": {
			"somebody else decides whether the child exists", situation{ifExists: true}, toSkip,
		},
		"no object, with IfMissing": {"that is what IfMissing is for", situation{ifMissing: true}, toCreate},
		"an object in deletion": {
			"a write would be lost, and finalizers must run", with(live, func(s *situation) { s.isTerminating = true }), toAwaitDeletion,
		},
		"an object in deletion, with IfMissing": {
			"the child is about to be missing", with(live, func(s *situation) { s.isTerminating, s.ifMissing = true, true }), toAwaitDeletion,
		},
		"an object, with IfMissing": {
			"whatever exists is good, whoever made it", with(live, func(s *situation) { s.ifMissing = true }), toLeaveUnchanged,
		},
		"an object": {"nothing is written before it is known whose the object is", live, toFindProvenance},
		"an object of somebody else": {
			"neither ours nor to be adopted", with(live, func(s *situation) { s.knowsProvenance = true }), toLeaveForeign,
		},
		"a child that the cache hides": {
			"each pass would cost a request, and drift would go unnoticed",
			with(compared, func(s *situation) { s.isHidden, s.isInSync = true, true }), toReportHidden,
		},
		"a child that the cache hides and that is different": {
			"it may be hidden because somebody removed its label", with(compared, func(s *situation) { s.isHidden = true }), toWrite,
		},
		"a copy from before our last write": {
			"differences are no drift", with(claimed, func(s *situation) { s.isStale = true }), toAwaitCache,
		},
		"a child of ours":                             {"is it as desired?", claimed, toCompare},
		"a child as desired":                          {"no write that is not needed", with(compared, func(s *situation) { s.isInSync = true }), toRest},
		"a child that only a digest shows to be ours": {"the digest may be a copy", unproven, toProve},
		"a child that is different":                   {"desired changed, or somebody changed the child", compared, toWrite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, decide(tc.known), tc.reason)
		})
	}
}

// Options that OnlyFor gives to one child do not reach another one.
func TestOptionsOfChildrenStayApart(t *testing.T) {
	t.Parallel()
	first, second := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	for name, option := range map[string]func(...string) ChildOption{
		"MigrateFrom": MigrateFrom, "Release": Release, "Once": Once, "Retire": Retire,
	} {
		o := resolve([]SetOption{option("a"), option("b"), option("c"), OnlyFor(first, option("d")), OnlyFor(second, option("e"))})
		of, other := o.forChild(first), o.forChild(second)
		require.NotEqual(t, of.handover(), other.handover(), name)
		require.Contains(t, of.handover(), "d", name)
	}
}
