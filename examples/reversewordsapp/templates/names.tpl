{{- /* What children are called. With the ReverseWordsApp's name, and nothing else that people choose, none is another's. */ -}}

{{define "deployment"}}dp-{{.Name}}{{end}}
{{define "service"}}service-{{.Name}}{{end}}
