{{- /* The names of the children. They are unique because they contain the name of the ReverseWordsApp and no other input. */ -}}

{{define "deployment"}}dp-{{.Name}}{{end}}
{{define "service"}}service-{{.Name}}{{end}}
