package ensure_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/ensure"
)

// TestNumbersOfSensitiveKinds: a number can be a PIN.
func TestNumbersOfSensitiveKinds(t *testing.T) {
	for name, tc := range map[string]struct {
		settings []ensure.Setting
		want     []string
	}{
		"sensitive": {
			[]ensure.Setting{ensure.WithSensitive(schema.GroupKind{Group: "apps", Kind: "Deployment"})},
			[]string{"metadata.annotations[" + digestKey + "]", "spec.replicas"},
		},
		"others": {nil, []string{"metadata.annotations[" + digestKey + "]", "spec.replicas 2 -> 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, events := newServer(), &recorder{}
			e := newEnsurer(s, append(tc.settings, ensure.WithRecorder(events))...)
			scaled := func(replicas int32) *appsv1.Deployment {
				return with(deployment(), func(o *appsv1.Deployment) { o.Spec.Replicas = new(replicas) })
			}
			mustEnsure(t, e, scaled(2))
			var seen []string
			for _, change := range mustEnsure(t, e, scaled(3)).Changes {
				seen = append(seen, change.String())
			}
			require.Empty(t, cmp.Diff(tc.want, seen))
			require.Len(t, events.told, 2)
			require.Contains(t, events.told[1].Note, tc.want[1])
			require.Equal(t, name == "others", strings.Contains(events.told[1].Note, "2 -> 3"))
		})
	}
}

// TestItemsOfSensitiveKinds: a list item is named by a value.
func TestItemsOfSensitiveKinds(t *testing.T) {
	s, events := newServer(), &recorder{}
	e := newEnsurer(s, ensure.WithSensitive(schema.GroupKind{Group: "apps", Kind: "Deployment"}), ensure.WithRecorder(events))
	mustEnsure(t, e, deployment())
	changed := with(deployment(), func(o *appsv1.Deployment) { o.Spec.Template.Spec.Containers[0].Image = "nginx:1.30" })
	changes := mustEnsure(t, e, changed).Changes
	require.Equal(t, "spec.template.spec.containers[…]", changes[len(changes)-1].String())
	require.Contains(t, events.told[1].Note, "spec.template.spec.containers[…]")
	require.NotContains(t, events.told[1].Note, "web]")
}
