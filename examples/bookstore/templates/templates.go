// Package templates contains the manifests of a BookStore's children. Files in the folder of the flag
// --templates override them.
package templates

import (
	"embed"

	corev1 "k8s.io/api/core/v1"
)

// Files are database-service.yaml, database.yaml, mongodb-service.yaml, app.yaml and app-service.yaml, with
// one object each, and names.tpl and labels.tpl, which all use.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is the data of the templates, such as {{.Name}}. The namespace of a child is always the namespace
// of the BookStore.
type Data struct {
	// Name, Namespace and Labels are copied from the BookStore. {{quote (index .Labels "team")}} is the
	// value of a label, or empty if the BookStore does not have the label.
	Name      string
	Namespace string
	Labels    map[string]string

	// App and Database are settings from the spec.
	App      App
	Database Database
}

// App has the settings of the app.
type App struct {
	// Image consists of repository and tag.
	Image           string
	ImagePullPolicy corev1.PullPolicy
	Replicas        int32
	// Port is the port of the Service, and TargetPort is the port on which the app listens.
	Port, TargetPort int32
	ServiceType      corev1.ServiceType
}

// Database has the settings of the MongoDB. The operator itself writes the number of replicas, the size
// of the volumes and the retention policy into the StatefulSet, since they change in several steps.
type Database struct {
	// Image consists of repository and tag.
	Image           string
	ImagePullPolicy corev1.PullPolicy
	// Port is the port on which mongod listens.
	Port int32
	// FirstPod is the name of the first database's pod, and Host is its host name, for the app. Both are
	// empty in database.yaml and database-service.yaml, from which the operator computes the names.
	FirstPod, Host string
}
