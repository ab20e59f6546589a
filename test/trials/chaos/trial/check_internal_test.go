package trial

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

var (
	ownerName      = owners.Ref{Kind: "ReverseWordsApp", Namespace: "chaos-0", Name: "words-0"}
	deploymentName = owners.Ref{Kind: "Deployment", Namespace: "chaos-0", Name: "dp-words-0"}
	serviceName    = owners.Ref{Kind: "Service", Namespace: "chaos-0", Name: "service-words-0"}
)

// objectsOfKind returns n objects of a kind.
func objectsOfKind(t *testing.T, name string, n int) []*object {
	t.Helper()
	for _, k := range owners.All() {
		if k.Name() == name {
			return newObjects(k, Plan{Seed: 1, Owners: n * len(owners.All())})
		}
	}
	t.Fatalf("there is no kind %s", name)
	return nil
}

// sampleState returns a ReverseWordsApp, and a state in which it is as desired, except that its pods are not ready.
func sampleState(t *testing.T) (*object, *state) {
	t.Helper()
	o := objectsOfKind(t, "ReverseWordsApp", 1)[0]
	o.kind.Ready = func(client.Object) (metav1.ConditionStatus, string) { return metav1.ConditionFalse, "Progressing" }
	s := &state{objects: map[owners.Ref]*unstructured.Unstructured{}, byUID: map[types.UID]*unstructured.Unstructured{}}
	spec, err := owners.SpecOf(o.owner)
	require.NoError(t, err)
	owner := s.add(ownerName, owners.Manifest{"apiVersion": "apps.linuxera.org/v1alpha1", "spec": spec})
	owner.SetGeneration(2)
	owner.SetFinalizers([]string{o.kind.Finalizer})
	var children []any
	for i := range o.children() {
		name, want, _ := o.child(i)
		child := s.add(name, want.Want)
		child.SetAnnotations(map[string]string{want.Digest: "v1-1"})
		child.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "apps.linuxera.org/v1alpha1", Kind: "ReverseWordsApp", Name: o.key.Name, UID: owner.GetUID(),
			Controller: new(true), BlockOwnerDeletion: new(true),
		}})
		children = append(children, owners.Manifest{"kind": name.Kind, "name": name.Name, "uid": string(child.GetUID())})
	}
	owner.Object["status"] = owners.Manifest{"children": children, "conditions": []any{
		owners.Manifest{"type": "Ready", "status": "False", "reason": "Progressing", "observedGeneration": int64(2)},
	}}
	return o, s
}

// add adds an object with a UID.
func (s *state) add(name owners.Ref, content owners.Manifest) *unstructured.Unstructured {
	obj := (&unstructured.Unstructured{Object: content}).DeepCopy()
	obj.SetKind(name.Kind)
	obj.SetNamespace(name.Namespace)
	obj.SetName(name.Name)
	obj.SetUID(types.UID("uid of " + name.Name))
	s.objects[name] = obj
	s.byUID[obj.GetUID()] = obj
	return obj
}

func TestDifferences(t *testing.T) {
	stray := owners.Ref{Kind: "Secret", Namespace: "chaos-0", Name: "of-words-1"}
	pod := owners.Ref{Kind: "Pod", Namespace: "chaos-0", Name: "dp-words-0-x"}
	podOf := func(uid string) owners.Manifest {
		return owners.Manifest{"metadata": owners.Manifest{"ownerReferences": []any{owners.Manifest{"controller": true, "uid": uid}}}}
	}
	for _, c := range []struct {
		reason string
		spoil  func(*object, *state)
		want   string
	}{
		{"as desired", func(*object, *state) {}, ""},
		{"a foreign label", func(_ *object, s *state) { s.objects[serviceName].SetLabels(labelsAnd(s.objects[serviceName])) }, ""},
		{"no owner", func(_ *object, s *state) { delete(s.objects, ownerName) }, "ReverseWordsApp chaos-0/words-0: it does not exist"},
		{"another spec", func(_ *object, s *state) { specOf(s.objects[ownerName])["appVersion"] = "9" }, "spec.appVersion: 9"},
		{"no finalizer", func(_ *object, s *state) { s.objects[ownerName].SetFinalizers(nil) }, "it has no finalizer"},
		{"an old status", func(_ *object, s *state) { s.objects[ownerName].SetGeneration(3) }, "map[observedGeneration:3"},
		{"a status of another child", func(_ *object, s *state) { s.objects[serviceName].SetUID("other") }, "status.children[1]"},
		{"no child", func(_ *object, s *state) { delete(s.objects, serviceName) }, "Service chaos-0/service-words-0: it does not exist"},
		{"a child in deletion", func(_ *object, s *state) { s.objects[serviceName].SetDeletionTimestamp(new(metav1.Now())) }, "it is being deleted"},
		{"a child without digest", func(_ *object, s *state) { s.objects[serviceName].SetAnnotations(nil) }, "it has no digest"},
		{"a child without label", func(_ *object, s *state) { s.objects[serviceName].SetLabels(nil) }, ".metadata.labels"},
		{"a child without owner", func(_ *object, s *state) { s.objects[serviceName].SetOwnerReferences(nil) }, "its owners are [], not"},
		{"another selector", func(_ *object, s *state) {
			specOf(s.objects[serviceName])["selector"].(owners.Manifest)["more"] = "yes"
		}, "it selects"},
		{"another scale", func(_ *object, s *state) { specOf(s.objects[deploymentName])["replicas"] = int64(7) }, ".spec.replicas: 7"},
		{"a stray child", func(_ *object, s *state) { s.add(stray, owners.Manifest{}) }, "Secret chaos-0/of-words-1: it is left behind"},
		{"a pod of nobody", func(_ *object, s *state) { s.add(pod, podOf("gone")) }, "Pod chaos-0/dp-words-0-x: it is left behind"},
		{"a pod", func(_ *object, s *state) { s.add(pod, podOf("uid of dp-words-0")) }, ""},
		{"the rest of a deleted owner", func(o *object, _ *state) { o.isGone = true }, "it is left behind"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			o, s := sampleState(t)
			c.spoil(o, s)
			found := strings.Join(differences(s, []*object{o}), "\n")
			require.Equal(t, c.want == "", found == "", found)
			require.Contains(t, found, c.want)
		})
	}
}

func specOf(obj *unstructured.Unstructured) owners.Manifest {
	return obj.Object["spec"].(owners.Manifest)
}

func labelsAnd(obj *unstructured.Unstructured) map[string]string {
	labels := obj.GetLabels()
	labels["example.org/team"] = "blue"
	return labels
}

func TestRows(t *testing.T) {
	objects := objectsOfKind(t, "PostgresWriter", 2)
	objects[1].isGone = true
	row := owners.RowOf(objects[0].owner)
	key, goneKey := owners.RowKey(objects[0].owner), owners.RowKey(objects[1].owner)
	older := row
	older.Age++
	for _, c := range []struct {
		reason string
		rows   map[string][]owners.Row
		want   string
	}{
		{"as desired", map[string][]owners.Row{key: {row}}, ""},
		{"no row", nil, "chaos-0/row-0: its rows are []"},
		{"another row", map[string][]owners.Row{key: {older}}, "chaos-0/row-0: its rows are"},
		{"a second row", map[string][]owners.Row{key: {row, row}}, "chaos-0/row-0: its rows are"},
		{"a row of nothing", map[string][]owners.Row{key: {row}, goneKey: {row}}, "of chaos-1/row-1 are left behind"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			j := &judge{state: &state{rows: c.rows}, objects: objects}
			j.judgeRows()
			found := strings.Join(j.found, "\n")
			require.Equal(t, c.want == "", found == "", found)
			require.Contains(t, found, c.want)
		})
	}
}
