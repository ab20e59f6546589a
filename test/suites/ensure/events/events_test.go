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
	d := newDesk(t)
	owner := referTo("v1", "ConfigMap", d.owner)
	mark := shared.Mark()

	child := referTo("v1", "ConfigMap", d.ensure(d.settings("blue")).Live)
	d.ensure(d.settings("green"))
	d.edit(d.settings(""), `{"data":{"color":"hunter2"},"metadata":{"labels":{"app":"x"}}}`)
	d.await("the edit to show", func() bool { return d.ensure(d.settings("green")).Operation == ensure.Updated })
	d.ensure(d.settings("red"), ensure.DryRun())
	d.absent(d.settings(""), ensure.DryRun())
	d.absent(d.settings(""))
	d.await("it to be gone", func() bool { return d.absent(d.settings("")).Operation == ensure.Gone })

	name := d.namespace + "/settings"
	require.Empty(t, cmp.Diff([]sight{
		{owner, child, "Created", "Created", "created ConfigMap " + name},
		{owner, child, "DesiredChanged", "Updated", "updated ConfigMap " + name + ": data[color]"},
		{owner, child, "Drifted", "Updated", "updated ConfigMap " + name + ": data[color]"},
		{owner, child, "Unwanted", "Deleting", "deleting ConfigMap " + name},
	}, d.sights()))
	about, _ := d.requests(mark)
	require.Equal(t, map[string]int{"create events": 4}, about, "that is the right which it takes")
}

// TestNoEventWithoutAWrite: neither in passes that find nothing to do, nor after a restart.
func TestNoEventWithoutAWrite(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	children := []client.Object{d.settings("blue"), &corev1.Secret{ObjectMeta: d.named("password")}}
	pass := func() {
		_, err := ensure.Set(d.ctx, d.ensurer, d.owner, children, ensure.Prune(&corev1.ConfigMap{}))
		require.NoError(t, err)
	}
	pass()
	require.EqualValues(t, 2, d.told.count.Load())
	require.Len(t, d.sights(), 2) // before a restart forgets how many were told
	for range 2 {
		for range 20 {
			pass()
		}
		d.restart()
	}
	pass()
	require.Zero(t, d.told.count.Load(), "the restarted one has told nothing")
	require.Len(t, d.sights(), 2)
}

// TestSeriesKeepTheFirstNote shows why both objects of an event are named with their version:
// client-go combines events about the same objects at the same versions into a series.
func TestSeriesKeepTheFirstNote(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mark := shared.Mark()
	for _, note := range []string{"first", "second"} {
		d.told.Eventf(d.owner, nil, corev1.EventTypeNormal, "Drifted", "Updated", "%s", note)
		d.await("the first", func() bool { return len(d.eventsIn(d.namespace)) == 1 })
	}
	d.await("the series", func() bool { return d.eventsIn(d.namespace)[0].Series != nil })
	require.Equal(t, "first", d.eventsIn(d.namespace)[0].Note)
	about, _ := d.requests(mark)
	require.Equal(t, map[string]int{"create events": 1, "patch events": 1}, about)
}

func TestRepeatedDriftIsAnEventEach(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	service := &corev1.Service{ObjectMeta: d.named("web")}
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	service.Spec.PublishNotReadyAddresses = true
	mark := shared.Mark()
	d.ensure(service)
	for range 4 {
		d.edit(service, `{"spec":{"publishNotReadyAddresses":false}}`)
		d.await("the edit to show", func() bool { return d.ensure(service).Operation == ensure.Updated })
	}
	notes := map[string]int{}
	for _, seen := range d.sights() {
		notes[seen.Reason+" "+seen.Note]++
	}
	name := "Service " + d.namespace + "/web"
	require.Equal(t, map[string]int{
		"Created created " + name: 1,
		"Drifted updated " + name + ": spec.publishNotReadyAddresses none -> true": 4,
	}, notes)
	about, _ := d.requests(mark)
	require.Equal(t, map[string]int{"create events": 5}, about)
}

// TestOwnersOfAllSorts: the recorder's scheme knows none but the built-in kinds.
func TestOwnersOfAllSorts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(apiextensionsv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme)))
	admin, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	require.NoError(t, cluster.Define(d.ctx, admin, deskKind()))
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "events.example.com/v1", "kind": "Desk",
		"metadata": map[string]any{"namespace": d.namespace, "name": "desk"},
	}}
	d.await("the kind to be served", func() bool { return admin.Create(d.ctx, custom) == nil })
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: d.namespace}}
	require.NoError(t, admin.Create(d.ctx, role))
	typed, _ := d.owner.(*corev1.ConfigMap)
	bare := typed.DeepCopy()
	bare.TypeMeta = metav1.TypeMeta{}

	for reason, tc := range map[string]struct {
		owner     client.Object
		namespace string
		regarding string
	}{
		"typed, without TypeMeta":      {bare, d.namespace, referTo("v1", "ConfigMap", bare)},
		"a custom kind, unstructured":  {custom, d.namespace, referTo("events.example.com/v1", "Desk", custom)},
		"cluster-scoped, in 'default'": {role, metav1.NamespaceDefault, referTo("rbac.authorization.k8s.io/v1", "ClusterRole", role)},
	} {
		child := &corev1.ConfigMap{ObjectMeta: d.named("child-of-" + tc.owner.GetName())}
		d.owner = tc.owner
		made := referTo("v1", "ConfigMap", d.ensure(child).Live)
		d.await("the event about "+reason, func() bool {
			for _, event := range d.eventsIn(tc.namespace) {
				if refer(event.Related) == made {
					return refer(&event.Regarding) == tc.regarding
				}
			}
			return false
		})
	}
}

func deskKind() *apiextensionsv1.CustomResourceDefinition {
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
	d := newDesk(t)
	d.ensure(d.settings("blue"))
	many := d.settings("blue")
	for i := range 200 {
		many.Data[fmt.Sprintf("key-%03d", i)] = "x"
	}
	d.ensure(many)
	sights := d.sights()
	require.Len(t, sights, 2)
	require.LessOrEqual(t, len(sights[1].Note), 1024)
	require.Regexp(t, `: data\[key-000\], .* and \d+ more$`, sights[1].Note)
}

// TestWhatKubectlShows explains the choice of reason and action: the columns show the reason, and
// the message shows the change.
func TestWhatKubectlShows(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	kubectl, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	d.ensure(d.settings("blue"))
	d.ensure(d.settings("green"))
	d.sights()
	for _, args := range [][]string{{"get", "events"}, {"describe", "configmap", "owner"}} {
		args = append([]string{"--kubeconfig", shared.Kubeconfig(), "--namespace", d.namespace}, args...)
		out, err := exec.CommandContext(t.Context(), kubectl, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Regexp(t, `Normal +Created .*created ConfigMap `+d.namespace+`/settings`, string(out))
		require.Regexp(t, `Normal +DesiredChanged .*updated ConfigMap `+d.namespace+`/settings: data\[color\]`, string(out))
	}
}
