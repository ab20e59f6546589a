{{- /* What children are called. Names that begin with the Application's never collide with another's. */ -}}

{{define "secret"}}{{.Name}}-secret-greeting{{end}}
{{define "deployment"}}{{.Name}}-deployment-microservice{{end}}
{{define "service"}}{{.Name}}-service-microservice{{end}}

{{- /* The container, and the label app of the pods. */ -}}
{{define "microservice"}}{{.Name}}-microservice{{end}}
