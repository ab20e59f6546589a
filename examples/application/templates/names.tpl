{{- /* What children are called. With the Application's name, and nothing else that people choose, none is another's. */ -}}

{{define "secret"}}{{.Name}}-secret-greeting{{end}}
{{define "deployment"}}{{.Name}}-deployment-microservice{{end}}
{{define "service"}}{{.Name}}-service-microservice{{end}}

{{- /* The container, and the label app of the pods. */ -}}
{{define "microservice"}}{{.Name}}-microservice{{end}}
