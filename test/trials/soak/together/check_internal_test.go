package together

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestLacks(t *testing.T) {
	live := parse(`{a: {b: 1, c: x}, list: [{name: one, size: 1}, {name: two}], words: [p, q]}`)
	for _, c := range []struct {
		reason, want, says string
	}{
		{"all of it", `{a: {b: 1, c: x}, list: [{name: one, size: 1}, {name: two}], words: [p, q]}`, ""},
		{"others added to maps and lists", `{a: {c: x}, list: [{name: two}], words: [q]}`, ""},
		{"another value", `{a: {b: 2}}`, ".a.b: 1, not 2"},
		{"another type", `{a: {b: "1"}}`, ".a.b: 1, not 1"},
		{"no such key", `{a: {d: 1}}`, ".a.d: <nil>, not 1"},
		{"no such map", `{z: {d: 1}}`, ".z.d: <nil>, not 1"},
		{"no such item", `{list: [{name: three}]}`, ".list[0]: map[name:three] is not among"},
		{"an item that is different", `{list: [{name: one, size: 2}]}`, ".list[0]: map[name:one size:2] is not among"},
		{"no such word", `{words: [p, r]}`, ".words[1]: r is not among"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			missing := lacks(live, parse("%s", c.want), "")
			require.Equal(t, c.says == "", missing == "", missing)
			require.Contains(t, missing, c.says)
		})
	}
}

// sampleState returns a clusterState with one ReverseWordsApp and all its children.
func sampleState(t *testing.T) (*environment, *clusterState) {
	t.Helper()
	k := reverseWordsApp()
	o := newObjects(k, Plan{Seed: 1, Objects: 1})[0]
	e := &environment{kinds: []*kind{k}, objects: []*object{o}, marks: marks{of: map[ref]mark{}}}
	scheme, err := e.scheme()
	require.NoError(t, err)
	e.admin = fake.NewClientBuilder().WithScheme(scheme).Build()

	s := &clusterState{objects: map[ref]*unstructured.Unstructured{}, byUID: map[types.UID]*unstructured.Unstructured{}}
	spec, err := specOf(o.owner)
	require.NoError(t, err)
	owner := s.add(parse(`{apiVersion: apps.linuxera.org/v1alpha1, kind: ReverseWordsApp, metadata: {name: %s, generation: 2}}`, o.key.Name))
	owner.Object["spec"] = spec
	owner.SetFinalizers([]string{k.finalizer})
	var children []any
	for _, want := range o.children() {
		child := s.add(want)
		child.SetAnnotations(map[string]string{k.digest: "v1-1"})
		child.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "apps.linuxera.org/v1alpha1", Kind: "ReverseWordsApp", Name: o.key.Name, UID: owner.GetUID(),
			Controller: new(true), BlockOwnerDeletion: new(true),
		}})
		children = append(children, manifest{"kind": child.GetKind(), "name": child.GetName(), "uid": string(child.GetUID())})
	}
	status, reason := k.ready(o.owner)
	owner.Object["status"] = manifest{
		"observedGeneration": int64(2), "children": children,
		"conditions": []any{manifest{"type": "Ready", "status": string(status), "reason": reason, "observedGeneration": int64(2)}},
	}
	return e, s
}

// add makes an object with a UID.
func (s *clusterState) add(content manifest) *unstructured.Unstructured {
	obj := (&unstructured.Unstructured{Object: content}).DeepCopy()
	obj.SetNamespace("soak-0")
	obj.SetUID(types.UID("uid of " + obj.GetName()))
	s.objects[refOf(obj.Object, "soak-0")] = obj
	s.byUID[obj.GetUID()] = obj
	return obj
}

func TestJudge(t *testing.T) {
	owner, deployment := ref{"ReverseWordsApp", "soak-0", "words-0"}, ref{"Deployment", "soak-0", "dp-words-0"}
	service := ref{"Service", "soak-0", "service-words-0"}
	for _, c := range []struct {
		reason string
		spoil  func(*environment, *clusterState)
		want   string
	}{
		{"as it should be", func(*environment, *clusterState) {}, ""},
		{"others have added to it", func(_ *environment, s *clusterState) { s.objects[service].SetLabels(labelsAnd(s.objects[service])) }, ""},
		{"no owner", func(_ *environment, s *clusterState) { delete(s.objects, owner) }, "ReverseWordsApp soak-0/words-0 is not there"},
		{"another spec", func(_ *environment, s *clusterState) { s.objects[owner].Object["spec"].(manifest)["appVersion"] = "9" }, "spec.appVersion: 9"},
		{"no finalizer", func(_ *environment, s *clusterState) { s.objects[owner].SetFinalizers(nil) }, "it has no finalizer"},
		{"a status of before", func(_ *environment, s *clusterState) { s.objects[owner].SetGeneration(3) }, "map[observedGeneration:3"},
		{"a status of another child", func(_ *environment, s *clusterState) { s.objects[service].SetUID("other") }, "status.children[1]"},
		{"no child", func(_ *environment, s *clusterState) { delete(s.objects, service) }, "Service soak-0/service-words-0: it is not there"},
		{"a child that goes", func(_ *environment, s *clusterState) { s.objects[service].SetDeletionTimestamp(new(metav1.Now())) }, "it is going"},
		{"a child without digest", func(_ *environment, s *clusterState) { s.objects[service].SetAnnotations(nil) }, "it has no digest"},
		{"a child without label", func(_ *environment, s *clusterState) { s.objects[service].SetLabels(nil) }, ".metadata.labels"},
		{"a child without owner", func(_ *environment, s *clusterState) { s.objects[service].SetOwnerReferences(nil) }, "its owners are [], not"},
		{"another selector", func(_ *environment, s *clusterState) {
			s.objects[service].Object["spec"].(manifest)["selector"].(manifest)["more"] = "yes"
		}, "it selects"},
		{"another scale", func(_ *environment, s *clusterState) {
			s.objects[deployment].Object["spec"].(manifest)["replicas"] = int64(7)
		}, ".spec.replicas: 7"},
		{"a stray child", func(_ *environment, s *clusterState) {
			s.add(parse(`{kind: Secret, metadata: {name: of-words-1}}`))
		}, "Secret soak-0/of-words-1 is left behind"},
		{"a pod of nobody", func(_ *environment, s *clusterState) {
			s.add(parse(`{kind: Pod, metadata: {name: dp-words-0-x, ownerReferences: [{controller: true, uid: gone}]}}`))
		}, "Pod soak-0/dp-words-0-x is left behind"},
		{"a pod", func(_ *environment, s *clusterState) {
			s.add(parse(`{kind: Pod, metadata: {name: dp-words-0-x, ownerReferences: [{controller: true, uid: uid of dp-words-0}]}}`))
		}, ""},
		{"what is there of something removed", func(e *environment, _ *clusterState) { e.objects[0].isGone = true }, "is left behind"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			e, s := sampleState(t)
			e.objects[0].kind.ready = anyReason(metav1.ConditionFalse)
			s.objects[owner].Object["status"].(manifest)["conditions"].([]any)[0].(manifest)["status"] = "False"
			c.spoil(e, s)
			found := strings.Join(append(e.deviations(s, e.kinds[0]), e.leftBehind(s, e.kinds[0])...), "\n")
			require.Equal(t, c.want == "", found == "", found)
			require.Contains(t, found, c.want)
		})
	}
}

func labelsAnd(obj *unstructured.Unstructured) map[string]string {
	labels := obj.GetLabels()
	labels["example.org/team"] = "blue"
	return labels
}

func TestMarks(t *testing.T) {
	e, s := sampleState(t)
	service := ref{"Service", "soak-0", "service-words-0"}
	live := s.objects[service]
	want := e.objects[0].children()[1]
	e.marks.set(service, mark{uid: live.GetUID(), body: bodyOf(want, "Service", "v1")})

	tally, lost := e.marks.tally(s)
	require.Equal(t, Tally{Made: 1, Lost: 1}, tally)
	require.Contains(t, lost[service], "example.org")

	live.SetUID("another")
	tally, _ = e.marks.tally(s)
	require.Equal(t, Tally{}, tally, "it went with the object that it was on")
}

func TestCompareRows(t *testing.T) {
	objects := newObjects(postgresWriter(), Plan{Seed: 1, Objects: 2})
	objects[1].isGone = true
	is := rowOf(objects[0])
	key, goneKey := keyOf(objects[0].owner), keyOf(objects[1].owner)
	older := is
	older.Age++
	for _, c := range []struct {
		reason string
		rows   map[string][]row
		want   string
	}{
		{"as it should be", map[string][]row{key: {is}}, ""},
		{"no row", nil, "the rows of soak-0/row-0 are []"},
		{"another row", map[string][]row{key: {older}}, "the rows of soak-0/row-0 are"},
		{"a second row", map[string][]row{key: {is, is}}, "the rows of soak-0/row-0 are"},
		{"a row of nothing", map[string][]row{key: {is}, goneKey: {is}}, "of soak-1/row-1 are left behind"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			found := strings.Join(compareRows(&clusterState{rows: c.rows}, objects), "\n")
			require.Equal(t, c.want == "", found == "", found)
			require.Contains(t, found, c.want)
		})
	}
}
