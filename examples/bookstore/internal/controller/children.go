package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/bookstore/templates"
	"github.com/trueup-go/trueup/examples/internal/operator"
)

// managedByLabel selects the Deployments, StatefulSets and Services in the cache of the manager. ensure adds
// the label, whatever the templates specify.
const managedByLabel = "app.kubernetes.io/managed-by"

const (
	databaseFile        = "database.yaml"
	databaseServiceFile = "database-service.yaml"
)

// children are the children of a BookStore. They have the fields that the templates specify, and
// the database those of its storage, and no others: the API server sets defaults, which ensure
// leaves alone.
type children struct {
	databaseService *corev1.Service
	database        *appsv1.StatefulSet
	app             *appsv1.Deployment
	appService      *corev1.Service
}

// ofDatabase are the first, and ofApp the last that are made.
func (c *children) ofDatabase() []client.Object {
	return []client.Object{c.databaseService, c.database}
}
func (c *children) ofApp() []client.Object { return []client.Object{c.app, c.appService} }

func (c *children) inOrder() []client.Object { return slices.Concat(c.ofDatabase(), c.ofApp()) }

// childrenFor makes children from manifests. An error is about a template, or about the result for
// store.
func childrenFor(store *v1alpha1.BookStore, renderer *manifest.Renderer) (*children, error) {
	data := dataFor(store)
	service, err := manifest.Object[*corev1.Service](renderer, databaseServiceFile, store.Namespace, data)
	if err != nil {
		return nil, err
	}
	database, err := manifest.Object[*appsv1.StatefulSet](renderer, databaseFile, store.Namespace, data)
	if err != nil {
		return nil, err
	}
	if err := checkDatabase(database, service); err != nil {
		return nil, err
	}
	data.Database.Host = database.Name + "-0." + service.Name
	app, err := manifest.Object[*appsv1.Deployment](renderer, "app.yaml", store.Namespace, data)
	if err != nil {
		return nil, err
	}
	appService, err := manifest.Object[*corev1.Service](renderer, "app-service.yaml", store.Namespace, data)
	if err != nil {
		return nil, err
	}
	return &children{service, database, app, appService}, nil
}

func dataFor(store *v1alpha1.BookStore) templates.Data {
	app, db := store.Spec.BookApp, store.Spec.BookDB
	return templates.Data{
		Name:      store.Name,
		Namespace: store.Namespace,
		Labels:    store.Labels,
		App: templates.App{
			Image:           app.Repository + ":" + app.Tag,
			ImagePullPolicy: app.ImagePullPolicy,
			Replicas:        app.Replicas,
			Port:            app.Port,
			TargetPort:      app.TargetPort,
			ServiceType:     app.ServiceType,
		},
		Database: templates.Database{
			Image:           db.Repository + ":" + db.Tag,
			ImagePullPolicy: db.ImagePullPolicy,
			Port:            db.Port,
		},
	}
}

// checkDatabase refuses a template of the database with which the operator would lose track of the
// volumes, or which specifies settings that the operator decides.
func checkDatabase(set *appsv1.StatefulSet, service *corev1.Service) error {
	spec := set.Spec
	if spec.ServiceName != service.Name {
		return notInDatabase("spec.serviceName", "is not what "+databaseServiceFile+" calls the Service")
	}
	if spec.Selector == nil || len(spec.Selector.MatchLabels) == 0 || len(spec.Selector.MatchExpressions) > 0 {
		return notInDatabase("spec.selector", "has to be of matchLabels alone: the volumes bear these labels, too")
	}
	if len(spec.VolumeClaimTemplates) != 1 {
		return notInDatabase("spec.volumeClaimTemplates", "has to hold one, which the operator has grow")
	}
	claim := spec.VolumeClaimTemplates[0]
	if !slices.ContainsFunc(spec.Template.Spec.Containers, func(c corev1.Container) bool { return mounts(c, claim.Name) }) {
		return notInDatabase("spec.template.spec.containers", "none mounts the volume of the claim template")
	}
	for _, taken := range []struct {
		path string
		is   bool
	}{
		{"spec.replicas", spec.Replicas != nil},
		{"spec.ordinals", spec.Ordinals != nil},
		{"spec.persistentVolumeClaimRetentionPolicy", spec.PersistentVolumeClaimRetentionPolicy != nil},
		{"spec.volumeClaimTemplates[0].spec.resources", claim.Spec.Resources.Requests != nil || claim.Spec.Resources.Limits != nil},
	} {
		if taken.is {
			return notInDatabase(taken.path, "is the operator's to write: leave it out")
		}
	}
	return nil
}

func notInDatabase(path, problem string) error {
	return &manifest.Error{File: databaseFile, Path: path, Problem: problem}
}

func mounts(container corev1.Container, volume string) bool {
	return slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.Name == volume })
}

// checkNames refuses a BookStore whose name is too long for the names of the children. The pods of
// a StatefulSet have a label with the name of the set and ten more characters.
func (c *children) checkNames(store string) error {
	return operator.CheckNames(store, c.databaseService.Name, c.app.Name, c.appService.Name, c.database.Name+"-0123456789")
}
