// Package templates holds the manifests that a BookStore's children are made from. The flag
// --templates has files of the same names take their place, without a build.
package templates

import (
	"embed"

	corev1 "k8s.io/api/core/v1"
)

// Files are database-service.yaml, database.yaml, app.yaml and app-service.yaml, with one object each,
// and names.tpl, which all use.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is the data of the templates, such as {{.Name}}. Templates get no other data, and their
// namespace is always that of the BookStore.
type Data struct {
	// Name, Namespace and Labels are the BookStore's. One of the labels, which may not be
	// there, is {{index .Labels "team" | quote}}.
	Name      string
	Namespace string
	Labels    map[string]string

	// App and Database are the settings of the spec.
	App      App
	Database Database
}

// App is the app in front of the database.
type App struct {
	// Image is repository and tag.
	Image           string
	ImagePullPolicy corev1.PullPolicy
	Replicas        int32
	// Port is the Service's, and TargetPort the one that the app listens on.
	Port, TargetPort int32
	ServiceType      corev1.ServiceType
}

// Database has the settings of the MongoDB. Templates do not decide the number of databases, the
// size of their volumes and whether the volumes stay: these change in steps, and the operator
// writes them into the object of database.yaml.
type Database struct {
	// Image is repository and tag.
	Image           string
	ImagePullPolicy corev1.PullPolicy
	// Port is the one that mongod is to listen on.
	Port int32
	// Host is the host name of the first database, for the app. It comes from the object of
	// database.yaml, so that this file and database-service.yaml have none.
	Host string
}
