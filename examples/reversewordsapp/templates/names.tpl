{{- /* What children are called. Names that hold the ReverseWordsApp's never collide with another's. */ -}}

{{define "deployment"}}dp-{{.Name}}{{end}}
{{define "service"}}service-{{.Name}}{{end}}
