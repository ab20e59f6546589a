{{- /* The labels by which the Deployment and the Service select pods. No other operator and no other Application uses the same. */ -}}

{{define "selector" -}}
app.kubernetes.io/name: application,
app.kubernetes.io/instance: {{quote .Name}},
app.kubernetes.io/component: microservice
{{- end}}

{{- /* The labels of all children and of the pods. */ -}}
{{define "labels" -}}
{{template "selector" .}},
app: {{template "microservice" .}}
{{- end}}
