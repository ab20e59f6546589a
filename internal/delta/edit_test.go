package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/paths"
)

func TestEdited(t *testing.T) {
	set := func(at string, to any) delta.Edit {
		value, err := canon.Append(nil, to)
		require.NoError(t, err)
		return delta.Edit{Path: paths.Steps(at), Value: value}
	}
	gone := func(at string) delta.Edit { return delta.Edit{Path: paths.Steps(at)} }
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels, Annotations: map[string]string{"note": "x"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(7))},
				Containers: []corev1.Container{{
					Name: "web", Image: "web:1",
					Ports: []corev1.ContainerPort{{ContainerPort: 53, Name: "a"}, {ContainerPort: 53, Protocol: "UDP", Name: "b"}},
					Env:   []corev1.EnvVar{{Name: "X", Value: "1"}},
				}},
			}},
		},
	}
	set1 := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{ServiceName: "db"}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"user": []byte("u")}, StringData: map[string]string{"password": "p"},
	}
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Realm", "metadata": map[string]any{"name": "r"},
		"spec": map[string]any{"users": []any{map[string]any{"name": "root", "id": int64(1)}}, "size": int64(3)},
	}}
	const container = "spec.template.spec.containers[name=web]"
	const head = `{"kind":"K","metadata":{"annotations":{"note":"x"},"labels":{"app":"web"},"name":"web"},`
	const spec = `"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"spec":{`
	const env, ports = `"env":[{"name":"X","value":"1"}],`, `"ports":[{"containerPort":53,"name":"a"},{"containerPort":53,"name":"b","protocol":"UDP"}]`
	const context = `"securityContext":{"fsGroup":7}`
	cases := map[string]struct {
		obj   canon.Object
		edits []delta.Edit
		want  string
	}{
		"a member": {
			deployment,
			[]delta.Edit{gone("spec.template.spec.securityContext.fsGroup")},
			head + spec + `"containers":[{` + env + `"image":"web:1","name":"web",` + ports + `}],"securityContext":{}}}}}`,
		},
		"an item": {
			deployment,
			[]delta.Edit{gone(container + ".ports[containerPort=53,protocol=UDP]")},
			head + spec + `"containers":[{` + env + `"image":"web:1","name":"web","ports":[{"containerPort":53,"name":"a"}]}],` + context + `}}}}`,
		},
		"the last item": {
			deployment,
			[]delta.Edit{gone(container + ".env[name=X]")},
			head + spec + `"containers":[{"image":"web:1","name":"web",` + ports + `}],` + context + `}}}}`,
		},
		"a member of an item": {
			deployment,
			[]delta.Edit{set(container+".image", "web:2")},
			head + spec + `"containers":[{` + env + `"image":"web:2","name":"web",` + ports + `}],` + context + `}}}}`,
		},
		"a new item": {
			deployment,
			[]delta.Edit{set(container+".env[name=Y]", map[string]any{"name": "Y", "value": "2"}), gone(container + ".ports")},
			head + spec + `"containers":[{"env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}],"image":"web:1","name":"web"}],` + context + `}}}}`,
		},
		"in an item that is not there": {
			deployment,
			[]delta.Edit{set("spec.template.spec.containers[name=other].image", "x"), gone("spec.template"), gone("spec.selector")},
			head[:len(head)-1] + `}`,
		},
		"what its Go type always writes": {set1, []delta.Edit{gone("spec.serviceName")}, `{"kind":"K","metadata":{"name":"db"}}`},
		"all that there is":              {set1, []delta.Edit{gone("spec"), gone("metadata")}, `{"kind":"K"}`},
		"the last key of a map":          {secret, []delta.Edit{gone("data.user"), gone("data[password]")}, `{"kind":"K","metadata":{"name":"s"}}`},
		"stringData":                     {secret, []delta.Edit{gone("data[password]")}, `{"data":{"user":"dQ=="},"kind":"K","metadata":{"name":"s"}}`},
		"an unstructured member":         {custom, []delta.Edit{gone("spec.size"), gone("spec.users[name=root].id")}, `{"kind":"K","metadata":{"name":"r"},"spec":{"users":[{"name":"root"}]}}`},
		"an unstructured item":           {custom, []delta.Edit{gone("spec.users[name=root]")}, `{"kind":"K","metadata":{"name":"r"},"spec":{"size":3}}`},
		"new unstructured content": {
			custom,
			[]delta.Edit{gone("spec"), set("spec.a.b", "c"), set("spec.list[name=x]", map[string]any{"name": "x"}), set("spec.other", []any{})},
			`{"kind":"K","metadata":{"name":"r"},"spec":{"a":{"b":"c"},"list":[{"name":"x"}],"other":[]}}`,
		},
		"null in a custom kind": {
			&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Realm", "spec": map[string]any{"a": nil, "b": nil, "c": int64(1)},
			}},
			[]delta.Edit{gone("spec.b"), gone("spec.c"), gone("spec.d")},
			`{"kind":"K","spec":{"a":null}}`,
		},
		"null in a built-in kind": {
			&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": nil, "b": "1", "c": "2"},
			}},
			[]delta.Edit{gone("data.c")},
			`{"kind":"K","data":{"b":"1"}}`,
		},
		"null in free-form content": {
			&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(`{"a":null,"b":1}`)}, Revision: 3},
			[]delta.Edit{gone("data.b")},
			`{"kind":"K","data":{"a":null},"revision":3}`,
		},
		"an empty value beside it": {
			&corev1.Pod{Spec: corev1.PodSpec{Hostname: "h", Containers: []corev1.Container{{Name: "web", Env: []corev1.EnvVar{{Name: "X"}}}}}},
			[]delta.Edit{gone("spec.hostname")},
			`{"kind":"K","spec":{"containers":[{"env":[{"name":"X","value":""}],"name":"web"}]}}`,
		},
		"a variable's value": {
			&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Env: []corev1.EnvVar{{Name: "X", Value: "1"}}}}}},
			[]delta.Edit{gone("spec.containers[name=web].env[name=X].value")},
			`{"kind":"K","spec":{"containers":[{"env":[{"name":"X"}],"name":"web"}]}}`,
		},
		"an unstructured variable's value": {
			&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{
				"containers": []any{map[string]any{"name": "web", "env": []any{map[string]any{"name": "X", "value": "1"}, map[string]any{"name": "Y"}}}},
			}}},
			[]delta.Edit{gone("spec.containers[name=web].env[name=X].value")},
			`{"kind":"K","spec":{"containers":[{"env":[{"name":"X"},{"name":"Y","value":""}],"name":"web"}]}}`,
		},
		"no edit": {set1, nil, `{"kind":"K","metadata":{"name":"db"},"spec":{"serviceName":"db"}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			edited := delta.Edited(tc.obj, tc.edits...)
			body, err := canon.Body(edited, schema.GroupVersionKind{Kind: "K"}, "", "")
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(body))
			require.True(t, delta.Satisfies(edited, edited, nobodys))
			require.Empty(t, delta.Diff(edited, edited, nobodys))
			again, err := canon.Body(delta.Edited(edited, tc.edits...), schema.GroupVersionKind{Kind: "K"}, "", "")
			require.NoError(t, err)
			if name != "a new item" {
				require.JSONEq(t, tc.want, string(again), "edits of what is edited")
			}
		})
	}
}

// An object is satisfied by what the rest of it is in, typed or not.
func TestEditedSatisfies(t *testing.T) {
	live := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Data: map[string][]byte{"user": []byte("u"), "password": []byte("1")}}
	desired := &corev1.Secret{Data: map[string][]byte{"user": []byte("u"), "password": []byte("2")}}
	edit := delta.Edit{Path: []string{"data", "password"}}
	require.False(t, delta.Satisfies(live, desired, nobodys))
	require.True(t, delta.Satisfies(live, delta.Edited(desired, edit), nobodys))
	desired.Data["user"] = []byte("v")
	require.False(t, delta.Satisfies(live, delta.Edited(desired, edit), nobodys))
	require.Equal(t, []delta.Change{{Path: "data[user]"}}, delta.Unsatisfied(live, delta.Edited(desired, edit), nobodys))
	require.False(t, delta.Satisfies(&corev1.ConfigMap{}, delta.Edited(desired, edit), nobodys), "another type")
}

func TestEditsThatCannotBe(t *testing.T) {
	for at, want := range map[string]string{
		"spec.replica": "there is no replica",
		"spec.template.spec.containers[web].image": "should be [name=…]",
	} {
		obj := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		obj.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		_, err := canon.AppendObject(nil, delta.Edited(obj, delta.Edit{Path: paths.Steps(at)}))
		require.ErrorContains(t, err, want)
		require.False(t, delta.Satisfies(obj, delta.Edited(obj, delta.Edit{Path: paths.Steps(at)}), nobodys))
	}
	_, err := canon.AppendObject(nil, delta.Edited((*corev1.Secret)(nil), delta.Edit{Path: []string{"data"}}))
	require.Error(t, err)
}
