package property_test

// untyped are kinds that the operator has no Go type of; NAME is that of the object.
func untyped() []kindCase {
	return append([]kindCase{
		{
			name: "CustomResourceDefinition",
			first: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.NAME.example.com}, spec: {
				group: NAME.example.com, scope: Namespaced, names: {plural: things, singular: thing, kind: Thing, listKind: ThingList},
				versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
			additions: [][]place{{"spec.names.categories=[theirs]"}, {"spec.names.shortNames=[th]"}},
			clashes: []clash{
				{
					name: "conversion",
					before: []place{
						"spec.conversion.strategy=Webhook", "spec.conversion.webhook.conversionReviewVersions=[v1]",
						"spec.conversion.webhook.clientConfig.service={namespace: default, name: webhook}",
					},
					theirs: []place{"spec.conversion.webhook.clientConfig.caBundle=BUNDLE"}, ours: []place{"-spec.conversion"}, loses: []string{"spec.conversion"},
				},
				{name: "scope", ours: []place{"spec.scope=Cluster"}, outcome: immutable},
			},
		},
		{
			name: "APIService",
			first: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.NAME.example.com}, spec: {group: NAME.example.com,
				version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {namespace: default, name: api}}}`,
			clashes: []clash{{
				name: "caBundle", theirs: []place{"spec.caBundle=BUNDLE"}, ours: []place{"spec.insecureSkipTLSVerify=true"}, loses: []string{"spec.caBundle"}, unlessApplied: true,
			}},
		},
		{
			name: "MutatingWebhookConfiguration",
			first: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: NAME}, webhooks: [{name: ours.example.com,
				admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: 'https://ours.example.com'},
				rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]}]}`,
			additions: [][]place{
				{"webhooks[name=ours.example.com].timeoutSeconds=3"},
				{"webhooks[name=ours.example.com].clientConfig.caBundle=BUNDLE"},
				{"webhooks[name=ours.example.com].namespaceSelector.matchLabels.a=b"},
				{
					"webhooks[name=theirs.example.com].clientConfig.url='https://theirs.example.com'", "webhooks[name=theirs.example.com].sideEffects=None",
					"webhooks[name=theirs.example.com].admissionReviewVersions=[v1]",
				},
				{"webhooks[name=ours.example.com].matchConditions[name=theirs].expression='true'"},
			},
			clashes: []clash{{
				name: "client", theirs: []place{
					"-webhooks[name=ours.example.com].clientConfig.url", "webhooks[name=ours.example.com].clientConfig.service={namespace: default, name: w}",
				},
				loses: []string{"webhooks[name=ours.example.com].clientConfig.service"},
			}},
		},
		{
			name: "EndpointSlice",
			first: `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [192.0.2.1]}],
				ports: [{name: http, port: 80, protocol: TCP}]}`,
			clashes: []clash{{name: "addressType", ours: []place{"addressType=IPv6", "endpoints=[{addresses: ['2001:db8::1']}]"}, outcome: immutable}},
		},
	}, custom()...)
}

// custom are kinds that this test defines.
func custom() []kindCase {
	return []kindCase{
		{
			name:  "Source",
			first: `{apiVersion: property.example.com/v1, kind: Source, spec: {git: {url: 'https://example.com'}, items: [{name: ours, port: 1}]}}`,
			additions: [][]place{
				{"spec.items[name=theirs].port=2"},
				{"spec.items[name=ours].note=theirs"},
				{"spec.interval=7m"},
				{"spec.git.branch=main"},
				{"spec.tags[+]=theirs"},
				{"spec.free.theirs={a: [1, 2], b: {c: d}}"},
				{"spec.list=[a, b]"},
			},
			status: []place{"status.seen=7"},
			clashes: []clash{
				{name: "one of two", theirs: []place{"-spec.git", "spec.oci.ref=x", "spec.oci.tag=latest"}, loses: []string{"spec.oci"}},
				{name: "an item's key", theirs: []place{"spec.items[name=ours].name=moved"}, loses: []string{"spec.items[name=moved]"}},
				{
					name: "an item of a set", theirs: []place{"spec.tags[+]=red"}, ours: []place{"spec.tags=[blue]"}, loses: []string{"spec.tags[red]"}, unlessApplied: true,
				},
				{name: "an immutable field", before: []place{"spec.kept=1"}, ours: []place{"spec.kept=2"}, outcome: immutable},
			},
		},
		{
			name:  "Gadget",
			first: `{apiVersion: property.example.com/v1, kind: Gadget, spec: {mode: {fast: {speed: 3}}, doors: [{port: 80, layer: L4, name: web}], limits: {max: 20}}}`,
			additions: [][]place{
				{"spec.doors[port=90,layer=L4].name=theirs"},
				{"spec.doors[port=80,layer=L7].name=paths"},
				{"spec.parts.engine.rooms[name=a].colour=red"},
				{"spec.colour=green"},
				{"spec.parts.wing.size=3"},
				{"spec.whole={a: b}"},
			},
			status: []place{"status.seen=7"},
			scale:  []place{"spec.size=2"},
			clashes: []clash{
				{name: "oneOf", theirs: []place{"-spec.mode.fast", "spec.mode.slow.pace=2"}, loses: []string{"spec.mode.slow"}},
				{name: "bounds", theirs: []place{"spec.limits.min=10"}, ours: []place{"spec.limits.max=5"}, loses: []string{"spec.limits.min"}, unlessApplied: true},
				{
					name: "a door's name", theirs: []place{"spec.doors[port=81,layer=L4].name=side"}, ours: []place{"spec.doors[port=82,layer=L4].name=side"},
					loses: []string{"spec.doors[layer=L4,port=81]"}, unlessApplied: true,
				},
				{
					name: "an item inside a part", theirs: []place{"spec.parts.engine.rooms[name=b].master=true"},
					ours: []place{"spec.parts.engine.rooms[name=c].master=true"}, loses: []string{"spec.parts.engine.rooms[name=b]"}, unlessApplied: true,
				},
				{name: "too few", ours: []place{"spec.limits.max=-1"}, outcome: refused},
			},
		},
	}
}

// definitions of the custom kinds: Source has rules in CEL, Gadget in the schema as well.
const definitions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sources.property.example.com}
spec:
  group: property.example.com
  scope: Namespaced
  names: {plural: sources, singular: source, kind: Source, listKind: SourceList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "has(self.git) != has(self.oci)", message: one of git and oci}
            - {rule: "!has(self.items) || self.items.all(a, self.items.exists_one(b, a.port == b.port))", message: ports differ}
            - {rule: "!has(self.tags) || !('red' in self.tags && 'blue' in self.tags)", message: not red and blue}
            properties:
              interval: {type: string, default: 1m}
              kept: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf, message: it is immutable}]}
              git: {type: object, properties: {url: {type: string}, branch: {type: string}}}
              oci: {type: object, required: [ref], properties: {ref: {type: string}, tag: {type: string}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              list: {type: array, items: {type: string}}
              tags: {type: array, maxItems: 8, x-kubernetes-list-type: set, items: {type: string, maxLength: 9}}
              items:
                type: array
                maxItems: 8
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name, port], properties: {name: {type: string}, port: {type: integer}, note: {type: string}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.property.example.com}
spec:
  group: property.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.seen}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            properties:
              size: {type: integer, default: 1}
              colour: {type: string, default: blue}
              whole: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              mode:
                type: object
                oneOf: [{required: [fast]}, {required: [slow]}]
                properties:
                  fast: {type: object, required: [speed], properties: {speed: {type: integer}, turbo: {type: boolean, default: false}}}
                  slow: {type: object, required: [pace], properties: {pace: {type: integer}}}
              limits:
                type: object
                x-kubernetes-validations: [{rule: "!has(self.min) || self.min <= self.max", message: min exceeds max}]
                properties: {min: {type: integer}, max: {type: integer, minimum: 0}}
              doors:
                type: array
                maxItems: 8
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, layer]
                x-kubernetes-validations: [{rule: "self.all(a, self.exists_one(b, a.name == b.name))", message: names differ}]
                items:
                  type: object
                  required: [port, name]
                  properties: {port: {type: integer}, layer: {type: string, default: L4}, name: {type: string, maxLength: 20}}
              parts:
                type: object
                maxProperties: 8
                additionalProperties:
                  type: object
                  properties:
                    size: {type: integer}
                    rooms:
                      type: array
                      maxItems: 8
                      x-kubernetes-list-type: map
                      x-kubernetes-list-map-keys: [name]
                      x-kubernetes-validations: [{rule: "self.filter(a, has(a.master) && a.master).size() <= 1", message: one master}]
                      items: {type: object, required: [name], properties: {name: {type: string}, colour: {type: string}, master: {type: boolean}}}
`
