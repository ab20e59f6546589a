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

// managedByLabel selects the Deployments, StatefulSets and Services that the manager caches. ensure adds
// the label to children.
const managedByLabel = "app.kubernetes.io/managed-by"

const (
	databaseFile        = "database.yaml"
	databaseServiceFile = "database-service.yaml"
)

// children are the desired children of a BookStore. They have only the fields of the templates, and the
// database also has those of storage. The API server sets defaults for other fields, which ensure leaves
// alone.
type children struct {
	databaseService *corev1.Service
	database        *appsv1.StatefulSet
	app             *appsv1.Deployment
	appService      *corev1.Service
}

func (c *children) databaseObjects() []client.Object {
	return []client.Object{c.databaseService, c.database}
}
func (c *children) appObjects() []client.Object { return []client.Object{c.app, c.appService} }

func (c *children) inOrder() []client.Object {
	return slices.Concat(c.databaseObjects(), c.appObjects())
}

// childrenFor renders the children of store. An invalid template, or an invalid result for store, is an error.
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

// checkDatabase returns an error if the operator could not find the volumes of the database, or if the
// template specifies a field that the operator writes itself.
func checkDatabase(set *appsv1.StatefulSet, service *corev1.Service) error {
	spec := set.Spec
	if spec.ServiceName != service.Name {
		return databaseError("spec.serviceName", "is not the name of the Service in "+databaseServiceFile)
	}
	if spec.Selector == nil || len(spec.Selector.MatchLabels) == 0 || len(spec.Selector.MatchExpressions) > 0 {
		return databaseError("spec.selector", "has to consist of matchLabels: the volumes have these labels, too")
	}
	if len(spec.VolumeClaimTemplates) != 1 {
		return databaseError("spec.volumeClaimTemplates", "has to contain one template, whose size the operator writes")
	}
	claim := spec.VolumeClaimTemplates[0]
	if !slices.ContainsFunc(spec.Template.Spec.Containers, func(c corev1.Container) bool { return mounts(c, claim.Name) }) {
		return databaseError("spec.template.spec.containers", "no container mounts the volume of the claim template")
	}
	for _, setting := range []struct {
		path      string
		specified bool
	}{
		{"spec.replicas", spec.Replicas != nil},
		{"spec.ordinals", spec.Ordinals != nil},
		{"spec.persistentVolumeClaimRetentionPolicy", spec.PersistentVolumeClaimRetentionPolicy != nil},
		{"spec.volumeClaimTemplates[0].spec.resources", claim.Spec.Resources.Requests != nil || claim.Spec.Resources.Limits != nil},
	} {
		if setting.specified {
			return databaseError(setting.path, "is written by the operator: leave it out")
		}
	}
	return nil
}

func databaseError(path, problem string) error {
	return &manifest.Error{File: databaseFile, Path: path, Problem: problem}
}

func mounts(container corev1.Container, volume string) bool {
	return slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.Name == volume })
}

// checkNames returns an error if the children cannot be named after the BookStore. The pods of a
// StatefulSet have a label whose value is the name of the set and eleven more characters.
func (c *children) checkNames(store string) error {
	return operator.CheckNames(store, c.databaseService.Name, c.app.Name, c.appService.Name, c.database.Name+"-0123456789")
}
