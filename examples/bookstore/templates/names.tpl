{{- /* What children are called. With the BookStore's name, and nothing else that people choose, none is another's. */ -}}

{{- /* The StatefulSet and its headless Service. Those that are there keep their names: their volumes go by them. */ -}}
{{define "database"}}{{.Name}}-mongodb{{end}}

{{- /* The Deployment and the Service in front of it. */ -}}
{{define "app"}}{{.Name}}-app{{end}}
