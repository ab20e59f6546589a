{{- /* The labels by which the Deployment and the Service select pods. No other operator and no other ReverseWordsApp uses the same. */ -}}

{{define "selector" -}}
app.kubernetes.io/name: reversewordsapp,
app.kubernetes.io/instance: {{quote .Name}},
app.kubernetes.io/component: web
{{- end}}

{{- /* The labels of both children and of the pods. */ -}}

{{define "labels" -}}
{{template "selector" .}},
app: {{quote .Name}}
{{- end}}
