package property_test

import "slices"

// kindCases are the kinds, a third of them without a Go type.
func kindCases() []kindCase {
	return slices.Concat(workloads(), services(), others(), untyped())
}

func workloads() []kindCase {
	const template = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: 'example.com/web:1'}]}}"
	const selected = "selector: {matchLabels: {app: web}}, " + template
	relabelled := []place{"spec.selector.matchLabels.app=other", "spec.template.metadata.labels.app=other"}
	deployment := workload("Deployment", "spec.template", "{apiVersion: apps/v1, kind: Deployment, spec: {"+selected+"}}",
		[][]place{{"spec.minReadySeconds=3"}, {"spec.revisionHistoryLimit=4"}},
		clash{
			name: "minReadySeconds", theirs: []place{"spec.minReadySeconds=100"}, ours: []place{"spec.progressDeadlineSeconds=60"},
			loses: []string{"spec.minReadySeconds"}, unlessApplied: true,
		},
		clash{name: "a default", ours: []place{"spec.strategy.type=Recreate"}, loses: []string{"spec.strategy.rollingUpdate"}},
		clash{
			name: "maxSurge", theirs: []place{"spec.strategy.rollingUpdate.maxSurge=2"}, ours: []place{"spec.strategy.type=Recreate"},
			loses: []string{"spec.strategy.rollingUpdate"},
		},
		clash{
			name: "nothing unavailable", theirs: []place{"spec.strategy.rollingUpdate.maxUnavailable=0"}, ours: []place{"spec.strategy.rollingUpdate.maxSurge=0"},
			loses: []string{"spec.strategy.rollingUpdate.maxUnavailable"}, unlessApplied: true,
		},
		clash{name: "selector", ours: relabelled, outcome: immutable},
	)
	deployment.scale = []place{"spec.replicas=2"}
	untypedDeployment := deployment
	untypedDeployment.name, untypedDeployment.typed = "Deployment without a type", false
	statefulSet := workload("StatefulSet", "spec.template", "{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: web, "+selected+"}}",
		[][]place{{"spec.minReadySeconds=3"}},
		clash{
			name: "partition", theirs: []place{"spec.updateStrategy.rollingUpdate.partition=1"}, ours: []place{"spec.updateStrategy.type=OnDelete"},
			loses: []string{"spec.updateStrategy.rollingUpdate"},
		},
		clash{name: "a default", ours: []place{"spec.updateStrategy.type=OnDelete"}, loses: []string{"spec.updateStrategy.rollingUpdate"}},
		clash{name: "serviceName", ours: []place{"spec.serviceName=other"}, outcome: immutable},
	)
	statefulSet.scale = deployment.scale
	return []kindCase{
		deployment, untypedDeployment, statefulSet,
		workload("DaemonSet", "spec.template", "{apiVersion: apps/v1, kind: DaemonSet, spec: {"+selected+"}}",
			[][]place{{"spec.revisionHistoryLimit=4"}},
			clash{
				name: "maxSurge", theirs: []place{"spec.updateStrategy.rollingUpdate.maxSurge=1", "spec.updateStrategy.rollingUpdate.maxUnavailable=0"},
				ours: []place{"spec.updateStrategy.rollingUpdate.maxUnavailable=2"}, loses: []string{"spec.updateStrategy.rollingUpdate.maxSurge"}, unlessApplied: true,
			},
			clash{name: "selector", ours: relabelled, outcome: immutable},
		),
		workload("ReplicaSet", "spec.template", "{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0, "+selected+"}}", [][]place{{"spec.minReadySeconds=3"}}),
		workload("PodTemplate", "template", "{apiVersion: v1, kind: PodTemplate, "+template+"}", nil),
		workload("CronJob", "spec.jobTemplate.spec.template", `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: '0 0 1 1 *', suspend: true,
			jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: 'example.com/web:1'}]}}}}}}`,
			[][]place{{"spec.timeZone=Etc/UTC"}, {"spec.jobTemplate.spec.backoffLimit=2"}, {"spec.startingDeadlineSeconds=60"}},
			clash{
				name:   "podFailurePolicy",
				theirs: []place{"spec.jobTemplate.spec.podFailurePolicy.rules=[{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]"},
				ours:   []place{"spec.jobTemplate.spec.template.spec.restartPolicy=OnFailure"},
				loses:  []string{"spec.jobTemplate.spec.podFailurePolicy"}, unlessApplied: true,
			},
		),
	}
}

func services() []kindCase {
	service := kindCase{
		name: "Service", typed: true,
		first: "{apiVersion: v1, kind: Service, spec: {selector: {app: web}, ports: [{name: http, port: 80, protocol: TCP}]}}",
		additions: [][]place{
			{"spec.ports[port=9090,protocol=TCP].name=metrics"},
			{"spec.ports[port=53,protocol=UDP].name=dns"},
			{"spec.publishNotReadyAddresses=true"},
			{"spec.internalTrafficPolicy=Local"},
			{"spec.externalIPs=[192.0.2.9]"},
			{"spec.trafficDistribution=PreferSameZone"},
		},
		status: []place{"status.conditions[+]={type: Theirs, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}"},
		clashes: []clash{
			{name: "edited port", theirs: []place{"spec.ports[name=http].port=81"}, loses: []string{"spec.ports[port=81,protocol=TCP]"}},
			{
				name: "edited port, with another target", theirs: []place{"spec.ports[name=http].port=81", "spec.ports[name=http].targetPort=web"},
				loses: []string{"spec.ports[port=81,protocol=TCP]"},
			},
			{
				name: "port name", theirs: []place{"spec.ports[port=444,protocol=TCP].name=https"}, ours: []place{"spec.ports[port=443,protocol=TCP].name=https"},
				loses: []string{"spec.ports[port=444,protocol=TCP]"}, unlessApplied: true,
			},
			{
				name: "source ranges", before: []place{"spec.type=LoadBalancer"}, theirs: []place{"spec.loadBalancerSourceRanges=[10.0.0.0/8]"},
				ours: []place{"spec.type=ClusterIP"}, loses: []string{"spec.loadBalancerSourceRanges"}, unlessApplied: true,
				cascades: []string{"nodePort", "allocateLoadBalancerNodePorts", "externalTrafficPolicy"},
			},
			{
				name: "externalTrafficPolicy", before: []place{"spec.type=NodePort"}, theirs: []place{"spec.externalTrafficPolicy=Local"},
				ours: []place{"spec.type=ClusterIP"}, cascades: []string{"nodePort", "externalTrafficPolicy"},
			},
			{
				name: "affinity", theirs: []place{"spec.sessionAffinity=ClientIP", "spec.sessionAffinityConfig.clientIP.timeoutSeconds=60"},
				ours: []place{"spec.sessionAffinity=None"}, cascades: []string{"sessionAffinityConfig"},
			},
		},
	}
	untypedService := service
	untypedService.name, untypedService.typed = "Service without a type", false
	return []kindCase{
		service, untypedService,
		{
			name: "Ingress", typed: true,
			first:     "{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}",
			additions: [][]place{{"spec.tls=[{hosts: [a.example.com], secretName: theirs}]"}, {"spec.rules=[{host: a.example.com}]"}},
			clashes: []clash{
				{
					name: "backend", theirs: []place{"-spec.defaultBackend.service", "spec.defaultBackend.resource={apiGroup: example.com, kind: Bucket, name: b}"},
					loses: []string{"spec.defaultBackend.resource"},
				},
				{
					name: "port", theirs: []place{"-spec.defaultBackend.service.port.number", "spec.defaultBackend.service.port.name=http"},
					loses: []string{"spec.defaultBackend.service.port.name"},
				},
			},
		},
		{
			name: "NetworkPolicy", typed: true,
			first:     "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}}",
			additions: [][]place{{"spec.ingress=[{from: [{podSelector: {}}]}]"}},
		},
	}
}

func others() []kindCase {
	autoscaler := "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 20, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}}}"
	budget := "{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}"
	return []kindCase{
		{
			name: "HorizontalPodAutoscaler", typed: true, first: autoscaler,
			additions: [][]place{
				{"spec.behavior.scaleDown.stabilizationWindowSeconds=30"},
				{"spec.metrics=[{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}]"},
			},
			clashes: []clash{{
				name: "minReplicas", theirs: []place{"spec.minReplicas=10"}, ours: []place{"spec.maxReplicas=5"}, loses: []string{"spec.minReplicas"}, unlessApplied: true,
			}},
		},
		{
			name: "PodDisruptionBudget", typed: true, first: budget,
			additions: [][]place{{"spec.unhealthyPodEvictionPolicy=AlwaysAllow"}},
			status:    []place{"status.conditions[+]={type: Theirs, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}"},
			clashes: []clash{
				{name: "turned round", theirs: []place{"-spec.minAvailable", "spec.maxUnavailable=1"}, loses: []string{"spec.maxUnavailable"}},
				{
					name: "turned round after an edit", theirs: []place{"spec.minAvailable=2"}, ours: []place{"-spec.minAvailable", "spec.maxUnavailable=1"},
					loses: []string{"spec.minAvailable"},
				},
			},
		},
		{
			name: "ConfigMap", typed: true, first: "{apiVersion: v1, kind: ConfigMap, data: {ours: '1'}}",
			additions: [][]place{{"data[theirs]='2'"}, {"data[theirs.conf]='a = b'"}, {"binaryData[theirs.bin]=AAEC"}},
			clashes: []clash{
				{name: "the same key", theirs: []place{"binaryData.key=AAEC"}, ours: []place{"data.key=ours"}, loses: []string{"binaryData.key"}, unlessApplied: true},
				{name: "immutable", theirs: []place{"immutable=true"}, ours: []place{"data.ours='2'"}, outcome: immutable},
			},
		},
		{
			name: "Secret", typed: true, first: "{apiVersion: v1, kind: Secret, data: {ours: AAEC}}",
			additions: [][]place{{"data[theirs]=AAEC"}, {"data[theirs.key]=AwQF"}},
			clashes:   []clash{{name: "immutable", theirs: []place{"immutable=true"}, ours: []place{"data.ours=AwQF"}, outcome: immutable}},
		},
		{
			name: "ServiceAccount", typed: true, first: "{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: ours}]}",
			additions: [][]place{{"imagePullSecrets[+]={name: theirs}"}, {"secrets[name=theirs]"}, {"automountServiceAccountToken=false"}},
		},
		{
			name: "Role", typed: true, first: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
		},
		{
			name: "ResourceQuota", typed: true, first: "{apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: '100'}}}",
			additions: [][]place{{"spec.hard[requests.memory]=1Ti"}, {"spec.hard[services]='100'"}},
			clashes:   []clash{{name: "scopes", ours: []place{"spec.scopes=[BestEffort]"}, outcome: immutable}},
		},
	}
}
