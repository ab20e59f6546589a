package controller

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

const (
	// appLabel tells the pods of a BookStore's database from those of its app.
	appLabel = "app"
	// managedByLabel selects what the manager's cache holds of Deployments, StatefulSets
	// and Services. ensure stamps it.
	managedByLabel = "app.kubernetes.io/managed-by"
)

// Each function below returns what the operator cares about and nothing else: the API
// server fills in the rest, and ensure leaves it alone.

func databaseServiceFor(store *v1alpha1.BookStore) *corev1.Service {
	port, selector := store.Spec.BookDB.Port, databaseSelector(store)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: namesFor(store.Name).database, Labels: selector},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector:  selector,
			Ports:     []corev1.ServicePort{{Name: "mongodb", Port: port, TargetPort: intstr.FromInt32(port)}},
		},
	}
}

// databaseFor is the StatefulSet with the storage that volumes allow for.
func databaseFor(store *v1alpha1.BookStore, storage storage) *appsv1.StatefulSet {
	names, db, selector := namesFor(store.Name), store.Spec.BookDB, databaseSelector(store)
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: names.database, Labels: selector},
		Spec: appsv1.StatefulSetSpec{
			Replicas:    &storage.replicas,
			ServiceName: names.database,
			Selector:    &metav1.LabelSelector{MatchLabels: selector},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: storage.whenDeleted,
				WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: claimTemplate},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					StorageClassName: storage.class,
					Resources:        requestOf(storage.size),
				},
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:            "mongodb",
					Image:           db.Repository + ":" + db.Tag,
					ImagePullPolicy: db.ImagePullPolicy,
					Args:            []string{"--bind_ip_all", fmt.Sprintf("--port=%d", db.Port)},
					Ports:           []corev1.ContainerPort{{Name: "mongodb", ContainerPort: db.Port}},
					ReadinessProbe:  listens("mongodb"),
					VolumeMounts:    []corev1.VolumeMount{{Name: claimTemplate, MountPath: "/data/db"}},
				}}},
			},
		},
	}
}

func appFor(store *v1alpha1.BookStore) *appsv1.Deployment {
	names, app, selector := namesFor(store.Name), store.Spec.BookApp, appSelector(store)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: names.app, Labels: selector},
		Spec: appsv1.DeploymentSpec{
			Replicas: &app.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:            "bookstore",
					Image:           app.Repository + ":" + app.Tag,
					ImagePullPolicy: app.ImagePullPolicy,
					Env: []corev1.EnvVar{
						{Name: "DB_HOST", Value: names.firstDatabase()},
						{Name: "DB_PORT", Value: strconv.Itoa(int(store.Spec.BookDB.Port))},
					},
					Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: app.TargetPort}},
					ReadinessProbe: listens("http"),
				}}},
			},
		},
	}
}

func appServiceFor(store *v1alpha1.BookStore) *corev1.Service {
	app, selector := store.Spec.BookApp, appSelector(store)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: namesFor(store.Name).app, Labels: selector},
		Spec: corev1.ServiceSpec{
			Type:     app.ServiceType,
			Selector: selector,
			Ports:    []corev1.ServicePort{{Name: "http", Port: app.Port, TargetPort: intstr.FromInt32(app.TargetPort)}},
		},
	}
}

func databaseSelector(store *v1alpha1.BookStore) map[string]string {
	return map[string]string{appLabel: namesFor(store.Name).database}
}

func appSelector(store *v1alpha1.BookStore) map[string]string {
	return map[string]string{appLabel: namesFor(store.Name).app}
}

func listens(port string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(port)}},
	}
}
