package together

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

func bookStore() *kind {
	return &kind{
		operator:    "bookstore",
		prefix:      "store",
		addToScheme: v1alpha1.AddToScheme,
		newOwner:    func() client.Object { return &v1alpha1.BookStore{} },
		edit:        editBookStore,
		finalizer:   v1alpha1.Finalizer,
		children:    childrenOfBookStore,
		digest:      "spec-hash.trueup-go.github.io/bookstore-operator",
		ready:       anyReason(metav1.ConditionTrue),
		check:       checkClaims,
	}
}

// editBookStore has volumes grow now and then; they cannot shrink.
func editBookStore(random *rand.Rand, owner client.Object) {
	app, db := &owner.(*v1alpha1.BookStore).Spec.BookApp, &owner.(*v1alpha1.BookStore).Spec.BookDB
	app.Repository, app.Tag = "akash125/pyapp", pick(random, "latest", "1", "2")
	app.Replicas = random.Int32N(3)
	app.Port, app.TargetPort = 80+random.Int32N(3), 3000+random.Int32N(3)
	app.ServiceType = pick(random, serviceTypes...)
	db.Repository, db.Tag = "mongo", pick(random, "latest", "8", "9")
	db.Replicas = random.Int32N(3)
	db.Port = 27017 + random.Int32N(3)
	db.Retain = pick(random, nil, new(true), new(false))
	if db.DBSize.IsZero() || random.IntN(3) == 0 {
		db.DBSize.Add(resource.MustParse("1Gi"))
	}
}

func childrenOfBookStore(owner client.Object) []manifest {
	store := owner.(*v1alpha1.BookStore)
	return append(databaseOf(store), appOf(store)...)
}

func databaseOf(store *v1alpha1.BookStore) []manifest {
	db, selector := store.Spec.BookDB, selectorOf("bookstore", store, "database")
	policy := "Retain"
	if !ptr.Deref(db.Retain, true) {
		policy = "Delete"
	}
	return []manifest{
		parse(`
kind: Service
metadata:
  name: %[1]s-mongodb
  labels: {%[3]s, app: %[1]s-mongodb, app.kubernetes.io/managed-by: bookstore-operator}
spec:
  clusterIP: None
  selector: {%[3]s}
  ports: [{name: mongodb, port: %[2]d}]
`, store.Name, db.Port, selector),
		parse(`
kind: StatefulSet
metadata:
  name: %[1]s-mongodb
  labels: {%[8]s, app: %[1]s-mongodb, app.kubernetes.io/managed-by: bookstore-operator}
spec:
  replicas: %[2]d
  serviceName: %[1]s-mongodb
  selector: {matchLabels: {%[8]s}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: %[3]s}
  volumeClaimTemplates:
  - metadata: {name: mongodb-pvc}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: %[4]q}}
  template:
    metadata:
      labels: {%[8]s, app: %[1]s-mongodb}
    spec:
      containers:
      - name: mongodb
        image: "%[5]s:%[6]s"
        ports: [{containerPort: %[7]d}]
        volumeMounts: [{name: mongodb-pvc, mountPath: /data/db}]
`, store.Name, db.Replicas, policy, db.DBSize.String(), db.Repository, db.Tag, db.Port, selector),
	}
}

func appOf(store *v1alpha1.BookStore) []manifest {
	app, selector := store.Spec.BookApp, selectorOf("bookstore", store, "app")
	return []manifest{
		parse(`
kind: Deployment
metadata:
  name: %[1]s-app
  labels: {%[7]s, app: %[1]s-app, app.kubernetes.io/managed-by: bookstore-operator}
spec:
  replicas: %[2]d
  selector: {matchLabels: {%[7]s}}
  template:
    metadata:
      labels: {%[7]s, app: %[1]s-app}
    spec:
      containers:
      - name: bookstore
        image: "%[3]s:%[4]s"
        ports: [{containerPort: %[5]d}]
        env: [{name: DB_HOST, value: %[1]s-mongodb-0.%[1]s-mongodb}, {name: DB_PORT, value: "%[6]d"}]
`, store.Name, app.Replicas, app.Repository, app.Tag, app.TargetPort, store.Spec.BookDB.Port, selector),
		parse(`
kind: Service
metadata:
  name: %[1]s-app
  labels: {%[5]s, app: %[1]s-app, app.kubernetes.io/managed-by: bookstore-operator}
spec:
  type: %[2]s
  selector: {%[5]s}
  ports: [{name: http, port: %[3]d, targetPort: %[4]d}]
`, store.Name, app.ServiceType, app.Port, app.TargetPort, selector),
	}
}

// checkClaims finds claims that are smaller than specified, and claims of databases that should
// leave nothing behind.
func checkClaims(s *clusterState, objects []*object) []string {
	var found []string
	for _, o := range objects {
		db := o.owner.(*v1alpha1.BookStore).Spec.BookDB
		claims := claimsOf(s, o)
		for name, claim := range claims {
			switch {
			case !o.isGone:
				want := manifest{"resources": manifest{"requests": manifest{"storage": db.DBSize.String()}}}
				if missing := lacks(claim.Object["spec"], want, "spec"); missing != "" {
					found = append(found, fmt.Sprintf("%s: %s", name, missing))
				}
			case !ptr.Deref(db.Retain, true):
				found = append(found, fmt.Sprintf("%s is left behind", name))
			}
		}
		for i := range db.Replicas {
			name := ref{claimKind, o.key.Namespace, fmt.Sprintf("mongodb-pvc-%s-mongodb-%d", o.key.Name, i)}
			want := manifest{"phase": "Bound", "capacity": manifest{"storage": db.DBSize.String()}}
			if o.isGone {
				continue
			}
			if claims[name] == nil {
				found = append(found, fmt.Sprintf("%s is not there", name))
			} else if missing := lacks(claims[name].Object["status"], want, "status"); missing != "" {
				found = append(found, fmt.Sprintf("%s: %s", name, missing))
			}
		}
	}
	return found
}

// claimsOf returns the claims of a store's database by their names.
func claimsOf(s *clusterState, o *object) map[ref]*unstructured.Unstructured {
	claims := map[ref]*unstructured.Unstructured{}
	prefix := "mongodb-pvc-" + o.key.Name + "-mongodb-"
	for name, obj := range s.objects {
		if name.kind == claimKind && name.namespace == o.key.Namespace && strings.HasPrefix(name.name, prefix) {
			claims[name] = obj
		}
	}
	return claims
}
