{{- /* Labels as the content of a YAML map in braces. No other operator and no other BookStore uses the same selectors. */ -}}

{{define "selector" -}}
app.kubernetes.io/name: bookstore,
app.kubernetes.io/instance: {{quote .Name}}
{{- end}}

{{- /* The labels by which the StatefulSet and its Service select pods. An existing database cannot change them, since its volumes have them. */ -}}
{{define "database-selector" -}}
{{template "selector" .}},
app.kubernetes.io/component: database
{{- end}}

{{- /* The labels by which the Deployment of the app and its Service select pods. */ -}}
{{define "app-selector" -}}
{{template "selector" .}},
app.kubernetes.io/component: app
{{- end}}

{{- /* The labels of the children and of the pods. */ -}}
{{define "database-labels" -}}
{{template "database-selector" .}},
app: {{template "database" .}}
{{- end}}
{{define "app-labels" -}}
{{template "app-selector" .}},
app: {{template "app" .}}
{{- end}}
