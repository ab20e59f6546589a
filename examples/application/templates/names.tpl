{{- /* The names of the children. They are unique because they contain the name of the Application and no other input. */ -}}

{{define "secret"}}{{.Name}}-secret-greeting{{end}}
{{define "deployment"}}{{.Name}}-deployment-microservice{{end}}
{{define "service"}}{{.Name}}-service-microservice{{end}}

{{- /* The name of the container, and the value of the pods' label app. */ -}}
{{define "microservice"}}{{.Name}}-microservice{{end}}
