package moves_test

import (
	"slices"
	"strings"
)

// A kindCase is a kind of object with what the programs of these rounds write to it.
type kindCase struct {
	name    string
	isTyped bool   // desired has its Go type
	base    string // what desired always has, in YAML
	parts   []part // what desired may have besides, in any combination
	legacy  []part // what only the older version sets
	theirs  []part // what strangers set
	// chosen lists paths whose values the server chooses for each object.
	chosen []string
}

// A part is a place in an object and its possible values: the name of each, a space, and the value in YAML.
type part struct {
	name, path string
	variants   []string
	// in names the part that the place is inside; then desired may take it along when it drops that part.
	in string
	// isLoose: fields of the same struct as other parts of desired, which go when desired drops those.
	isLoose bool
	// isPlain: the place cannot be named in options, as it is a part of what is merged as a whole, or has a default, or
	// strangers may write inside.
	isPlain bool
}

func (p part) variant(name string) any {
	for _, each := range p.variants {
		if found, text, _ := strings.Cut(each, " "); found == name {
			return parse(text)
		}
	}
	return nil
}

// names returns the variants as steps name them: part=variant.
func (p part) names() []string {
	var out []string
	for _, each := range p.variants {
		name, _, _ := strings.Cut(each, " ")
		out = append(out, p.name+"="+name)
	}
	return out
}

func find(parts []part, name string) part {
	at := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
	return parts[at] // a script names parts that there are
}

func kindCases() []kindCase {
	dynamic := deployment()
	dynamic.name, dynamic.isTyped = "Deployment without a Go type", false
	return []kindCase{deployment(), dynamic, configMap(), service(), machine()}
}

const (
	web = "spec.template.spec.containers[name=web]"
	pod = "spec.template.spec"

	fromName = "field {valueFrom: {fieldRef: {fieldPath: metadata.name}}}" // a variant of variables
)

// A deployment is paused, so that its controller makes no pods.
func deployment() kindCase {
	handlers := []string{
		"http {httpGet: {path: /a, port: 80}}",
		"https {httpGet: {path: /a, port: 81, scheme: HTTPS}, timeoutSeconds: 3}",
		"exec {exec: {command: [a, b]}, failureThreshold: 5}",
		"tcp {tcpSocket: {port: 80}}",
		"grpc {grpc: {port: 80}}",
	}
	return kindCase{
		name: "Deployment", isTyped: true,
		base: `{apiVersion: apps/v1, kind: Deployment, spec: {paused: true, selector: {matchLabels: {app: web}}, template: {
			metadata: {labels: {app: web}}, spec: {schedulerName: nobody, volumes: [{name: base, emptyDir: {}}],
			containers: [{name: web, image: a}]}}}}`,
		parts: []part{
			{name: "liveness", path: web + ".livenessProbe", variants: handlers, isPlain: true},
			{name: "readiness", path: web + ".readinessProbe", variants: handlers},
			{name: "lifecycle", path: web + ".lifecycle", variants: []string{
				"exec {preStop: {exec: {command: [a]}}}", "http {preStop: {httpGet: {port: 80}}}", "start {postStart: {exec: {command: [b]}}}",
				"both {preStop: {httpGet: {port: 81, path: /b}}, postStart: {exec: {command: [a]}}}",
			}},
			{name: "volume", path: pod + ".volumes[name=data]", variants: []string{
				"empty {emptyDir: {}}", "memory {emptyDir: {medium: Memory}}", "config {configMap: {name: a}}",
				"items {configMap: {name: a, items: [{key: a, path: b}]}}", "secret {secret: {secretName: a, defaultMode: 256}}",
				"projected {projected: {sources: [{configMap: {name: a}}]}}", "claim {persistentVolumeClaim: {claimName: a}}",
			}},
			{name: "mount", path: web + ".volumeMounts[mountPath=/a]", variants: []string{"rw {name: base}", "ro {name: base, readOnly: true}"}},
			{name: "strategy", path: "spec.strategy", isPlain: true, variants: []string{
				"recreate {type: Recreate}", "rolling {type: RollingUpdate}", "surge {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}",
				"both {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}",
			}},
			{name: "envA", path: web + ".env[name=A]", variants: []string{
				"value {value: x}", "other {value: z}", fromName,
				"config {valueFrom: {configMapKeyRef: {name: a, key: b}}}", "secret {valueFrom: {secretKeyRef: {name: a, key: b, optional: true}}}",
			}},
			{name: "envB", path: web + ".env[name=B]", variants: []string{"value {value: x}", fromName}},
			{name: "port", path: web + ".ports[containerPort=80,protocol=TCP]", variants: []string{"named {name: http}", "bare {}"}},
			{name: "udp", path: web + ".ports[containerPort=80,protocol=UDP]", variants: []string{"named {name: udp}"}},
			{name: "cpu", path: web + ".resources.limits[cpu]", variants: []string{"one '1'", "half 500m"}},
			{name: "memory", path: web + ".resources.requests[memory]", variants: []string{"one 1Gi", "two 2Gi"}},
			{name: "security", path: web + ".securityContext", variants: []string{
				"user {runAsUser: 7}", "caps {capabilities: {add: [A]}, privileged: false}", "root {runAsNonRoot: true, seLinuxOptions: {level: a}}",
			}},
			{name: "group", path: pod + ".securityContext.fsGroup", isLoose: true, variants: []string{"five 5", "six 6"}},
			{name: "seccomp", path: pod + ".securityContext.seccompProfile", isLoose: true, variants: []string{
				"default {type: RuntimeDefault}", "local {type: Localhost, localhostProfile: a}",
			}},
			{name: "nodes", path: pod + ".nodeSelector", variants: []string{"a {a: x}", "b {a: z, b: x}"}},
			{name: "note", path: "spec.template.metadata.annotations[note]", variants: []string{"x x", "z z"}},
			{name: "side", path: pod + ".containers[name=side]", isPlain: true, variants: []string{
				"bare {image: b}", "probed {image: b, livenessProbe: {tcpSocket: {port: 1}}, env: [{name: A, value: x}]}",
			}},
			{name: "init", path: pod + ".initContainers[name=init]", variants: []string{"bare {image: b}", "command {image: b, command: [a]}"}},
			{name: "affinity", path: pod + ".affinity", variants: []string{
				`node {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
					{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}`,
				`pods {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
					{topologyKey: a, labelSelector: {matchLabels: {app: web}}}]}}`,
			}},
			{name: "grace", path: pod + ".terminationGracePeriodSeconds", isPlain: true, variants: []string{"five 5", "six 6"}},
			{name: "account", path: pod + ".serviceAccountName", isPlain: true, variants: []string{"a a", "b b"}},
			{name: "tolerations", path: pod + ".tolerations", variants: []string{"a [{key: a}]", "b [{key: a, operator: Exists}, {key: b}]"}},
			{name: "replicas", path: "spec.replicas", isPlain: false, isLoose: true, variants: []string{"two 2", "zero 0"}},
			{name: "label", path: "metadata.labels[label]", variants: []string{"x x", "z z"}},
		},
		legacy: []part{
			{name: "oldKey", path: "metadata.annotations[old]", variants: []string{"x x", "z z"}},
			{name: "oldNote", path: "spec.template.metadata.annotations[old]", variants: []string{"x x"}},
			{name: "oldEnv", path: web + ".env[name=OLD]", variants: []string{"value {value: x}", fromName}},
			{name: "oldVolume", path: pod + ".volumes[name=old]", variants: []string{"empty {emptyDir: {}}", "config {configMap: {name: b}}"}},
			{name: "oldContainer", path: pod + ".containers[name=old]", variants: []string{"bare {image: c}"}},
			{name: "oldLimit", path: web + ".resources.limits[ephemeral-storage]", variants: []string{"one 1Gi"}},
			{name: "oldReady", path: "spec.minReadySeconds", isPlain: true, variants: []string{"three 3"}},
			{name: "oldLog", path: web + ".terminationMessagePath", isLoose: true, isPlain: true, variants: []string{"x /x"}},
			{name: "oldThreshold", path: web + ".livenessProbe.failureThreshold", in: "liveness", isPlain: true, variants: []string{"seven 7"}},
			{
				name: "oldUnavailable", path: "spec.strategy.rollingUpdate.maxUnavailable", in: "strategy", isPlain: true,
				variants: []string{"three 3"},
			},
			{
				name: "oldSideEnv", path: pod + ".containers[name=side].env[name=OLD]", in: "side", isPlain: true,
				variants: []string{"value {value: x}"},
			},
		},
		theirs: []part{
			{name: "label", path: "metadata.labels[theirs]", variants: []string{"x x"}},
			{name: "note", path: "spec.template.metadata.annotations[theirs]", variants: []string{"x x"}},
			{name: "env", path: web + ".env[name=THEIRS]", variants: []string{"value {value: x}"}},
			{name: "container", path: pod + ".containers[name=theirs]", variants: []string{"bare {image: d}"}},
			{name: "volume", path: pod + ".volumes[name=theirs]", variants: []string{"secret {secret: {secretName: b}}"}},
			{name: "limit", path: web + ".resources.limits[memory]", variants: []string{"four 4Gi"}},
			{name: "startup", path: web + ".startupProbe", variants: []string{"tcp {tcpSocket: {port: 1}}"}},
			{name: "pull", path: web + ".imagePullPolicy", variants: []string{"never Never"}},
			{name: "deadline", path: "spec.progressDeadlineSeconds", variants: []string{"some 77"}},
			{name: "period", path: web + ".livenessProbe.periodSeconds", in: "liveness", variants: []string{"nine 9"}},
			{name: "sideEnv", path: pod + ".containers[name=side].env[name=THEIRS]", in: "side", variants: []string{"value {value: x}"}},
		},
	}
}

func configMap() kindCase {
	return kindCase{
		name: "ConfigMap", isTyped: true,
		base: `{apiVersion: v1, kind: ConfigMap, data: {base: x}}`,
		parts: []part{
			{name: "a", path: "data[a]", variants: []string{"x x", "z z"}},
			{name: "b", path: "data[b.json]", variants: []string{"x x", "z z"}},
			{name: "binary", path: "binaryData[c]", variants: []string{"x YQ==", "z Yg=="}},
			{name: "label", path: "metadata.labels[example.com/label]", variants: []string{"x x", "z z"}},
			{name: "note", path: "metadata.annotations[example.com/note]", variants: []string{"x x", "z z"}},
			{name: "finalizer", path: "metadata.finalizers[example.com/keep]", isPlain: true, variants: []string{"on null"}},
		},
		legacy: []part{
			{name: "old", path: "data[old]", variants: []string{"x x", "z z"}},
			{name: "oldBinary", path: "binaryData[old.bin]", variants: []string{"x YQ=="}},
			{name: "oldLabel", path: "metadata.labels[old]", variants: []string{"x x"}},
		},
		theirs: []part{
			{name: "data", path: "data[theirs]", variants: []string{"x x"}},
			{name: "binary", path: "binaryData[theirs.bin]", variants: []string{"x YQ=="}},
			{name: "label", path: "metadata.labels[theirs]", variants: []string{"x x"}},
			{name: "finalizer", path: "metadata.finalizers[example.com/theirs]", variants: []string{"on null"}},
		},
	}
}

func service() kindCase {
	return kindCase{
		name: "Service", isTyped: true,
		base: `{apiVersion: v1, kind: Service, spec: {ports: [{name: base, port: 1, targetPort: 1}]}}`,
		parts: []part{
			{name: "http", path: "spec.ports[port=80,protocol=TCP]", variants: []string{
				"number {name: http, targetPort: 8080}", "name {name: http, targetPort: http}", "app {name: web, targetPort: 80, appProtocol: http}",
			}},
			{name: "dns", path: "spec.ports[port=53,protocol=UDP]", variants: []string{"number {name: dns, targetPort: 53}"}},
			{name: "selector", path: "spec.selector", variants: []string{"a {app: a}", "b {app: a, tier: b}"}},
			{name: "type", path: "spec.type", isPlain: true, variants: []string{"node NodePort", "balancer LoadBalancer", "cluster ClusterIP"}},
			{name: "internal", path: "spec.internalTrafficPolicy", isPlain: true, variants: []string{"local Local"}},
			{name: "unready", path: "spec.publishNotReadyAddresses", variants: []string{"on true"}},
			{name: "external", path: "spec.externalIPs", variants: []string{"a [192.0.2.1]", "b [192.0.2.1, 192.0.2.2]"}},
			{name: "label", path: "metadata.labels[label]", variants: []string{"x x", "z z"}},
		},
		legacy: []part{
			{name: "oldPort", path: "spec.ports[port=90,protocol=TCP]", variants: []string{"number {name: old, targetPort: 90}"}},
			{name: "oldLabel", path: "metadata.labels[old]", variants: []string{"x x"}},
		},
		theirs: []part{
			{name: "port", path: "spec.ports[port=91,protocol=TCP]", variants: []string{"number {name: theirs, targetPort: 91}"}},
			{name: "label", path: "metadata.labels[theirs]", variants: []string{"x x"}},
			{name: "app", path: "spec.ports[port=1,protocol=TCP].appProtocol", variants: []string{"x x"}},
		},
		chosen: []string{
			"spec.clusterIP", "spec.clusterIPs", "spec.ports[port=1,protocol=TCP].nodePort", "spec.ports[port=80,protocol=TCP].nodePort",
			"spec.ports[port=53,protocol=UDP].nodePort", "spec.ports[port=90,protocol=TCP].nodePort", "spec.ports[port=91,protocol=TCP].nodePort",
		},
	}
}
