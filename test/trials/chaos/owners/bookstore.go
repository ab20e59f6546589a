package owners

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

func bookStore() *Kind {
	return &Kind{
		Operator:      "bookstore",
		ListsChildren: true,
		Prefix:        "store",
		AddToScheme:   v1alpha1.AddToScheme,
		New:           func() client.Object { return &v1alpha1.BookStore{} },
		Edit:          editBookStore,
		Finalizer:     v1alpha1.Finalizer,
		Children:      childrenOfBookStore,
		Lease:         "bookstore-operator.blog.velotio.com",
		Ready:         isReady,
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
	db.MongoDBService = new(false) // which BookStore of a namespace would have it, is a matter of time
	if db.DBSize.IsZero() || random.IntN(3) == 0 {
		db.DBSize.Add(resource.MustParse("1Gi"))
	}
}

func childrenOfBookStore(owner client.Object) []Child {
	store := owner.(*v1alpha1.BookStore)
	const digest = "spec-hash.trueup-go.github.io/bookstore-operator"
	return append(childrenOf("BookStore", digest, true, databaseOf(store)...), childrenOf("BookStore", digest, true, appOf(store)...)...)
}

func databaseOf(store *v1alpha1.BookStore) []Manifest {
	db, selector := store.Spec.BookDB, selectorOf("bookstore", store, "database")
	policy := "Retain"
	if !ptr.Deref(db.Retain, true) {
		policy = "Delete"
	}
	return []Manifest{
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

func appOf(store *v1alpha1.BookStore) []Manifest {
	app, selector := store.Spec.BookApp, selectorOf("bookstore", store, "app")
	return []Manifest{
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

// A Volume is what should become of the claims of a BookStore.
type Volume struct {
	// Prefix begins the names of the claims, which end with the number of their pod.
	Prefix string
	Pods   int32
	Size   string
	// IsRetained means that the claims outlive their BookStore.
	IsRetained bool
}

// VolumeOf returns the volume of an owner; false unless the owner is a BookStore.
func VolumeOf(owner client.Object) (Volume, bool) {
	store, ok := owner.(*v1alpha1.BookStore)
	if !ok {
		return Volume{}, false
	}
	db := store.Spec.BookDB
	return Volume{"mongodb-pvc-" + store.Name + "-mongodb-", db.Replicas, db.DBSize.String(), ptr.Deref(db.Retain, true)}, true
}
