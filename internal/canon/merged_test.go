package canon_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trueup-go/trueup/internal/canon"
)

// What is at fault may lie in an item of a merged list, which has to be where it was.
func TestReplacementsInsideItems(t *testing.T) {
	t.Parallel()
	live := deploymentOf(
		corev1.Container{Name: "sidecar", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}},
		corev1.Container{
			Name: "app", Args: []string{"theirs"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8081, Protocol: "TCP"}, {Name: "theirs", ContainerPort: 99, Protocol: "TCP"}},
		},
	)
	desired := deploymentOf(corev1.Container{
		Name: "app", Args: []string{"ours"}, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
	})
	const (
		test  = `{"op":"test","path":"/spec/template/spec/containers/1/name","value":"app"}`
		ports = `{"op":"replace","path":"/spec/template/spec/containers/1/ports","value":[` +
			`{"containerPort":99,"name":"theirs","protocol":"TCP"},{"containerPort":8080,"name":"http"}]}`
		containers = `[{"op":"replace","path":"/spec/template/spec/containers","value":[` +
			`{"args":["ours"],"name":"app","ports":[{"containerPort":8080,"name":"http"}]}]}]`
	)
	for name, tc := range map[string]struct{ reason, field, want string }{
		"an item of an item": {
			"the ports of our container lose the edited one",
			"spec.template.spec.containers[1].ports[0].name", "[" + test + "," + ports + "]",
		},
		"a list without a key": {
			"it is replaced whole",
			"spec.template.spec.containers[1].args[0]",
			"[" + test + `,{"op":"replace","path":"/spec/template/spec/containers/1/args","value":["ours"]}]`,
		},
		"an item that nobody has":  {"any may be at fault", "spec.template.spec.containers[7].ports", containers},
		"an item without an index": {"likewise", "spec.template.spec.containers[x].ports", containers},
		"what nobody has": {
			"the least that both have around it", "spec.template.spec.volumes[0].name",
			`[{"op":"replace","path":"/spec/template/spec","value":{"containers":[` +
				`{"args":["ours"],"name":"app","ports":[{"containerPort":8080,"name":"http"}]}]}}]`,
		},
		"the object": {"is never replaced", "spec", "null"},
		"an item that desired lacks": {
			"it goes", "spec.template.spec.containers[0].ports",
			`[{"op":"replace","path":"/spec/template/spec/containers","value":[` +
				`{"args":["theirs"],"name":"app","ports":[{"containerPort":8081,"name":"http","protocol":"TCP"},` +
				`{"containerPort":99,"name":"theirs","protocol":"TCP"}]}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(canon.Replacements(live, desired, []string{tc.field}))
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(got), tc.reason)
		})
	}
	require.Nil(t, canon.Replacements(&corev1.Pod{}, desired, []string{"spec.template.spec"}), "two kinds have nothing in common")
}

func deploymentOf(containers ...corev1.Container) *appsv1.Deployment {
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: containers}}}}
}

// A value may become an object, and an object a value.
func TestDiffOfWhatIsAnotherKindOfValue(t *testing.T) {
	t.Parallel()
	number, object := unstructuredOf(t, `{"spec":{"a":1}}`), unstructuredOf(t, `{"spec":{"a":{"b":2}}}`)
	require.Empty(t, cmp.Diff([]canon.Change{{Path: "spec.a", Old: "1"}}, canon.Diff(number, object)))
	require.Empty(t, cmp.Diff([]canon.Change{{Path: "spec.a", New: "1"}}, canon.Diff(object, number)))
	require.Empty(t, cmp.Diff([]canon.Change{{Path: "spec.a", Old: "1"}}, canon.Unsatisfied(number, object)))
}
