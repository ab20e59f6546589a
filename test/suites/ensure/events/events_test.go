package events_test

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// TestEachWriteIsOneEvent compares the events that people see with the requests that the API server
// received.
func TestEachWriteIsOneEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := referTo("v1", "ConfigMap", f.owner)
	mark := shared.Mark()

	child := referTo("v1", "ConfigMap", f.ensure(f.settings("blue")).Live)
	f.ensure(f.settings("green"))
	f.edit(f.settings(""), `{"data":{"color":"hunter2"},"metadata":{"labels":{"app":"x"}}}`)
	f.await("the edit to show", func() bool { return f.ensure(f.settings("green")).Operation == ensure.Updated })
	f.ensure(f.settings("red"), ensure.DryRun())
	f.absent(f.settings(""), ensure.DryRun())
	f.absent(f.settings(""))
	f.await("it to be gone", func() bool { return f.absent(f.settings("")).Operation == ensure.Gone })

	name := f.namespace + "/settings"
	require.Empty(t, cmp.Diff([]eventSummary{
		{owner, child, "Created", "Created", "created ConfigMap " + name},
		{owner, child, "DesiredChanged", "Updated", "updated ConfigMap " + name + ": data[color]"},
		{owner, child, "Drifted", "Updated", "updated ConfigMap " + name + ": data[color]"},
		{owner, child, "Unwanted", "Deleting", "deleting ConfigMap " + name},
	}, f.eventSummaries()))
	about, _ := f.requests(mark)
	require.Equal(t, map[string]int{"create events": 4}, about, "that is the right which it takes")
}

// TestNoEventWithoutAWrite: neither in passes that find nothing to do, nor after a restart.
func TestNoEventWithoutAWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	children := []client.Object{f.settings("blue"), &corev1.Secret{ObjectMeta: f.objectMeta("password")}}
	pass := func() {
		_, err := ensure.Set(f.ctx, f.ensurer, f.owner, children, ensure.Prune(&corev1.ConfigMap{}))
		require.NoError(t, err)
	}
	pass()
	require.EqualValues(t, 2, f.recorder.count.Load())
	require.Len(t, f.eventSummaries(), 2) // before a restart forgets how many were recorded
	for range 2 {
		for range 20 {
			pass()
		}
		f.restart()
	}
	pass()
	require.Zero(t, f.recorder.count.Load(), "the restarted one has told nothing")
	require.Len(t, f.eventSummaries(), 2)
}

// TestSeriesKeepTheFirstNote shows why both objects of an event are named with their version:
// client-go combines events about the same objects at the same versions into a series.
func TestSeriesKeepTheFirstNote(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mark := shared.Mark()
	for _, note := range []string{"first", "second"} {
		f.recorder.Eventf(f.owner, nil, corev1.EventTypeNormal, "Drifted", "Updated", "%s", note)
		f.await("the first", func() bool { return len(f.eventsIn(f.namespace)) == 1 })
	}
	f.await("the series", func() bool { return f.eventsIn(f.namespace)[0].Series != nil })
	require.Equal(t, "first", f.eventsIn(f.namespace)[0].Note)
	about, _ := f.requests(mark)
	require.Equal(t, map[string]int{"create events": 1, "patch events": 1}, about)
}

func TestRepeatedDriftIsAnEventEach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	service := &corev1.Service{ObjectMeta: f.objectMeta("web")}
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	service.Spec.PublishNotReadyAddresses = true
	mark := shared.Mark()
	f.ensure(service)
	for range 4 {
		f.edit(service, `{"spec":{"publishNotReadyAddresses":false}}`)
		f.await("the edit to show", func() bool { return f.ensure(service).Operation == ensure.Updated })
	}
	notes := map[string]int{}
	for _, seen := range f.eventSummaries() {
		notes[seen.Reason+" "+seen.Note]++
	}
	name := "Service " + f.namespace + "/web"
	require.Equal(t, map[string]int{
		"Created created " + name: 1,
		"Drifted updated " + name + ": spec.publishNotReadyAddresses none -> true": 4,
	}, notes)
	about, _ := f.requests(mark)
	require.Equal(t, map[string]int{"create events": 5}, about)
}

// TestOwnersOfAllSorts: the recorder's scheme knows none but the built-in kinds.
func TestOwnersOfAllSorts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(apiextensionsv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme)))
	admin, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	require.NoError(t, cluster.Define(f.ctx, admin, customKind()))
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "events.example.com/v1", "kind": "Desk",
		"metadata": map[string]any{"namespace": f.namespace, "name": "desk"},
	}}
	f.await("the kind to be served", func() bool { return admin.Create(f.ctx, custom) == nil })
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	require.NoError(t, admin.Create(f.ctx, role))
	typed, _ := f.owner.(*corev1.ConfigMap)
	bare := typed.DeepCopy()
	bare.TypeMeta = metav1.TypeMeta{}

	for reason, tc := range map[string]struct {
		owner     client.Object
		namespace string
		regarding string
	}{
		"typed, without TypeMeta":      {bare, f.namespace, referTo("v1", "ConfigMap", bare)},
		"a custom kind, unstructured":  {custom, f.namespace, referTo("events.example.com/v1", "Desk", custom)},
		"cluster-scoped, in 'default'": {role, metav1.NamespaceDefault, referTo("rbac.authorization.k8s.io/v1", "ClusterRole", role)},
	} {
		child := &corev1.ConfigMap{ObjectMeta: f.objectMeta("child-of-" + tc.owner.GetName())}
		f.owner = tc.owner
		made := referTo("v1", "ConfigMap", f.ensure(child).Live)
		f.await("the event about "+reason, func() bool {
			for _, event := range f.eventsIn(tc.namespace) {
				if refer(event.Related) == made {
					return refer(&event.Regarding) == tc.regarding
				}
			}
			return false
		})
	}
}

func customKind() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "desks.events.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "events.example.com",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "desks", Singular: "desk", Kind: "Desk", ListKind: "DeskList"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

// TestLongNotesAreTaken: the API server refuses an event whose note is too long.
func TestLongNotesAreTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ensure(f.settings("blue"))
	many := f.settings("blue")
	for i := range 200 {
		many.Data[fmt.Sprintf("key-%03d", i)] = "x"
	}
	f.ensure(many)
	sights := f.eventSummaries()
	require.Len(t, sights, 2)
	require.LessOrEqual(t, len(sights[1].Note), 1024)
	require.Regexp(t, `: data\[key-000\], .* and \d+ more$`, sights[1].Note)
}

// TestWhatKubectlShows explains the choice of reason and action: the columns show the reason, and
// the message shows the change.
func TestWhatKubectlShows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kubectl, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	f.ensure(f.settings("blue"))
	f.ensure(f.settings("green"))
	f.eventSummaries()
	for _, args := range [][]string{{"get", "events"}, {"describe", "configmap", "owner"}} {
		args = append([]string{"--kubeconfig", shared.Kubeconfig(), "--namespace", f.namespace}, args...)
		out, err := exec.CommandContext(t.Context(), kubectl, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Regexp(t, `Normal +Created .*created ConfigMap `+f.namespace+`/settings`, string(out))
		require.Regexp(t, `Normal +DesiredChanged .*updated ConfigMap `+f.namespace+`/settings: data\[color\]`, string(out))
	}
}
