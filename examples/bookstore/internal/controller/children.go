package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/bookstore/templates"
	"github.com/trueup-go/trueup/examples/internal/operator"
)

const (
	databaseFile        = "database.yaml"
	databaseServiceFile = "database-service.yaml"
)

// children are the desired children of a BookStore. They have only the fields of the templates, and the
// database also has those of writeStorage. The API server sets defaults for other fields, which ensure
// leaves alone.
type children struct {
	databaseService *corev1.Service
	database        *appsv1.StatefulSet
	mongoDBService  *corev1.Service // nil if the store has none
	app             *appsv1.Deployment
	appService      *corev1.Service
}

func (c *children) inOrder() []client.Object {
	all := []client.Object{c.databaseService, c.database, c.app, c.appService}
	if c.mongoDBService != nil {
		all = append(all, c.mongoDBService)
	}
	return all
}

// childrenFor renders the children of store. An invalid template, or an invalid result for store, is an error.
// Whatever the templates say, the pods have the label by which the cache of the operator selects ReplicaSets.
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
	writeStorage(store, database)
	data.Database.FirstPod = database.Name + "-0"
	data.Database.Host = data.Database.FirstPod + "." + service.Name
	mongoDBService, err := manifest.Object[*corev1.Service](renderer, "mongodb-service.yaml", store.Namespace, data)
	if err != nil {
		return nil, err
	}
	app, err := manifest.Object[*appsv1.Deployment](renderer, "app.yaml", store.Namespace, data)
	if err != nil {
		return nil, err
	}
	appService, err := manifest.Object[*corev1.Service](renderer, "app-service.yaml", store.Namespace, data)
	if err != nil {
		return nil, err
	}
	metav1.SetMetaDataLabel(&database.Spec.Template.ObjectMeta, operator.ManagedByLabel, Name)
	metav1.SetMetaDataLabel(&app.Spec.Template.ObjectMeta, operator.ManagedByLabel, Name)
	return &children{service, database, mongoDBService, app, appService}, nil
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

// checkDatabase returns an error if the operator could not find the volumes of the database, or if the
// template specifies a field that the operator writes itself.
func checkDatabase(set *appsv1.StatefulSet, service *corev1.Service) error {
	spec, claim := set.Spec, corev1.PersistentVolumeClaim{}
	if len(spec.VolumeClaimTemplates) > 0 {
		claim = spec.VolumeClaimTemplates[0]
	}
	isMounted := slices.ContainsFunc(spec.Template.Spec.Containers, func(container corev1.Container) bool {
		return slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.Name == claim.Name })
	})
	selector, resources := ptr.Deref(spec.Selector, metav1.LabelSelector{}), claim.Spec.Resources
	hasLabels := len(selector.MatchLabels) > 0 && len(selector.MatchExpressions) == 0
	const written = "is written by the operator: leave it out"
	for _, check := range []struct {
		path    string
		isValid bool
		problem string
	}{
		{"spec.serviceName", spec.ServiceName == service.Name, "is not the name of the Service in " + databaseServiceFile},
		{"spec.selector", hasLabels, "has to consist of matchLabels: the volumes have these labels, too"},
		{"spec.volumeClaimTemplates", len(spec.VolumeClaimTemplates) == 1, "has to contain one template, whose size the operator writes"},
		{"spec.template.spec.containers", isMounted, "no container mounts the volume of the claim template"},
		{"spec.replicas", spec.Replicas == nil, written},
		{"spec.ordinals", spec.Ordinals == nil, written},
		{"spec.persistentVolumeClaimRetentionPolicy", spec.PersistentVolumeClaimRetentionPolicy == nil, written},
		{"spec.volumeClaimTemplates[0].spec.resources", resources.Requests == nil && resources.Limits == nil, written},
	} {
		if !check.isValid {
			return &manifest.Error{File: databaseFile, Path: check.path, Problem: check.problem}
		}
	}
	return nil
}

// checkNames returns an error if the children cannot be named after the BookStore. The pods of a
// StatefulSet have a label whose value is the name of the set and eleven more characters.
func (c *children) checkNames(store string) error {
	return operator.CheckNames(store,
		c.databaseService.Name, c.mongoDBService.Name, c.app.Name, c.appService.Name, c.database.Name+"-0123456789")
}
