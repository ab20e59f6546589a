{{- /* The names of the children. They are unique because they contain the name of the BookStore and no other input. */ -}}

{{- /* The StatefulSet and its headless Service. An existing database cannot be renamed, since its volumes have the name. */ -}}
{{define "database"}}{{.Name}}-mongodb{{end}}

{{- /* The Deployment of the app, and its Service. */ -}}
{{define "app"}}{{.Name}}-app{{end}}
