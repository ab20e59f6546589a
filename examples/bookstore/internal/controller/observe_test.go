package controller //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// TestObserve finds the database of a BookStore whose templates give the database the name shop-db.
func TestObserve(t *testing.T) {
	renamed, err := childrenFor(storeCalled("shop"), overridden(nil))
	require.NoError(t, err)
	renamed.database.Name = "shop-db"
	for _, test := range []struct {
		name       string
		isRecorded bool
		hasSet     bool
		pod        *corev1.Pod
		isUncached bool
		identity   string
		volumes    int
	}{
		{name: "the set", isRecorded: true, hasSet: true, identity: "shop-mongodb", volumes: 1},
		{name: "the set, without a status", hasSet: true, identity: "shop-mongodb", volumes: 1},
		{name: "the status", isRecorded: true, identity: "shop-mongodb", volumes: 1},
		{name: "the templates", identity: "shop-db"},
		{
			name: "a stranger mounts the claim", isRecorded: true, hasSet: true, identity: "shop-mongodb",
			pod: new(unlabelled(*shopPod("backup", "", firstClaim))),
		},
		{
			name: "the API server lists pods with the labels only", isRecorded: true, hasSet: true, identity: "shop-mongodb", volumes: 1,
			pod: new(unlabelled(*shopPod("backup", "", firstClaim))), isUncached: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := shop()
			objects := []client.Object{store, shopClaim(firstClaim)}
			if test.hasSet {
				objects = append(objects, shopSet(t, store))
			}
			if test.pod != nil {
				objects = append(objects, test.pod)
			}
			if !test.isRecorded {
				store.Status.Database = nil
			}
			_, r := reconcilerWith(t, defaultNames, objects...)
			reader := client.Reader(r.client)
			if test.isUncached {
				reader = r.server
			}
			db, err := r.observe(t.Context(), store, renamed.database, reader)
			require.NoError(t, err)
			require.Equal(t, test.identity, db.identity.StatefulSet)
			require.Equal(t, test.hasSet, db.set != nil)
			require.Len(t, db.volumes, test.volumes)
		})
	}
}

// TestObserveWithoutTemplates finds nothing if neither the status nor the templates have an identity.
func TestObserveWithoutTemplates(t *testing.T) {
	store := shop()
	store.Status.Database = nil
	_, r := reconcilerWith(t, defaultNames, store, shopClaim(firstClaim))
	db, err := r.observe(t.Context(), store, nil, r.server)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(v1alpha1.Database{}, db.identity))
}

// TestStoresWithClaims finds the BookStores to which a claim or a pod may belong.
func TestStoresWithClaims(t *testing.T) {
	_, r := reconcilerWith(t, defaultNames, shop())
	want := []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: "mall", Name: "shop"}}}
	for name, test := range map[string]struct {
		obj  client.Object
		want []reconcile.Request
	}{
		"a claim":                     {shopClaim(secondClaim), want},
		"a claim of another database": {shopClaim("mongodb-pvc-other-mongodb-0"), nil},
		"a claim of another form":     {shopClaim("mongodb-pvc-shop-mongodb"), nil},
		"a pod":                       {shopPod("backup", "", firstClaim), want},
		"a pod without claims":        {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop-mongodb-0"}}, nil},
		"another namespace":           {&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: firstClaim}}, nil},
	} {
		t.Run(name, func(t *testing.T) { require.Empty(t, cmp.Diff(test.want, r.storesWithClaims(t.Context(), test.obj))) })
	}
}
