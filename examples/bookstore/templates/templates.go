// Package templates holds the manifests that a BookStore's children are made from. The flag
// --templates has files of the same names take their place, without a build.
package templates

import (
	"embed"

	corev1 "k8s.io/api/core/v1"
)

// Files are database-service.yaml, database.yaml, app.yaml and app-service.yaml, of one
// object each, and what they share: names.tpl.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is what the templates are given, as {{.Name}} for example. They get nothing else,
// and their namespace is always the BookStore's.
type Data struct {
	// Name, Namespace and Labels are the BookStore's. One of the labels, which may not be
	// there, is {{index .Labels "team" | quote}}.
	Name      string
	Namespace string
	Labels    map[string]string

	// App and Database are what the spec says of them.
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

// Database is the MongoDB. How many there are, how large their volumes are and whether they
// stay is no template's affair: it changes in steps, and the operator writes it into what
// database.yaml makes.
type Database struct {
	// Image is repository and tag.
	Image           string
	ImagePullPolicy corev1.PullPolicy
	// Port is the one that mongod is to listen on.
	Port int32
	// Host is the host name of the first database, for the app: it comes from what
	// database.yaml made, so that this file and database-service.yaml have none.
	Host string
}
