package property_test

import "slices"

// A kindCase is a kind of object, with the fields that others may add to one and the changes that may conflict.
type kindCase struct {
	name  string
	typed bool   // there is a Go type, which half of the rounds use
	first string // what is desired, in YAML
	// additions lists fields that other programs may add, each by itself, without a conflict.
	additions [][]place
	// clashes lists fields that the server refuses.
	clashes []clash
	// status and scale list fields that other programs may write through subresources.
	status, scale []place
}

// A clash is a field of another program that is invalid together with desired.
type clash struct {
	name   string
	before []place // more that is desired at first
	theirs []place // what others write
	ours   []place // what is desired then; nothing means that it stays the same
	loses  []string
	// cascades lists the fields, of any owner, that the server removes when desired changes: the
	// node ports of a Service that becomes a ClusterIP.
	cascades []string
	// unlessApplied: another program may apply its part of the clash. Then that program has to
	// remove it.
	unlessApplied bool
	outcome       outcome
}

// An outcome is how a clash ends.
type outcome int

const (
	repaired  outcome = iota
	refused           // by ErrInvalid: nothing changes
	immutable         // by ErrImmutable: nothing changes
)

// everywhere lists the fields that may be added to any object.
var everywhere = [][]place{
	{"metadata.labels[example.com/team]=theirs"},
	{"metadata.labels[other]=theirs"},
	{"metadata.annotations[example.com/note]=theirs"},
	{"metadata.annotations[other.example.com/note]='{\"json\": [1, 2]}'"},
	{"metadata.finalizers[+]=example.com/theirs"},
	{"metadata.finalizers[+]=other.example.com/theirs"},
}

// under returns places below another one.
func under(prefix string, places []place) []place {
	out := make([]place, 0, len(places))
	for _, p := range places {
		if text := string(p); text[0] == '-' {
			out = append(out, place("-"+prefix+"."+text[1:]))
		} else {
			out = append(out, place(prefix+"."+text))
		}
	}
	return out
}

// podAdditions returns the fields that other programs may add to a pod template at prefix.
func podAdditions(prefix string) [][]place {
	var out [][]place
	for _, places := range [][]place{
		{"metadata.annotations[example.com/restarted]=now"},
		{"metadata.labels[example.com/revision]=seven"},
		{"spec.nodeSelector.disk=ssd"},
		{"spec.tolerations[+]={key: theirs, operator: Exists}"},
		{"spec.volumes[name=theirs].emptyDir={}"},
		{"spec.containers[name=sidecar].image=example.com/sidecar:1", "spec.containers[name=sidecar].volumeMounts[mountPath=/theirs].name=sidecars", "spec.volumes[name=sidecars].emptyDir={}"},
		{"spec.containers[name=proxy].image=example.com/proxy:1", "spec.containers[name=proxy].ports[containerPort=15000,protocol=TCP].name=proxy", "spec.containers[name=proxy].env[name=A].value=b"},
		{"spec.containers[name=main].env[name=THEIRS].value='1'"},
		{"spec.containers[name=main].env[name=NODE].valueFrom.fieldRef={apiVersion: v1, fieldPath: spec.nodeName}"},
		{"spec.containers[name=main].ports[containerPort=9090,protocol=TCP].name=metrics"},
		{"spec.containers[name=main].ports[containerPort=53,protocol=UDP].name=dns"},
		{"spec.containers[name=main].resources.limits.memory=64Mi"},
		{"spec.containers[name=main].volumeMounts[mountPath=/mounted].name=mounted", "spec.volumes[name=mounted].emptyDir.medium=Memory"},
		{"spec.containers[name=main].readinessProbe.exec.command=['true']"},
		{"spec.containers[name=main].securityContext.runAsUser=7"},
		{"spec.terminationGracePeriodSeconds=7"},
		{"spec.hostAliases[ip=192.0.2.1].hostnames=[theirs]"},
		{"spec.securityContext.fsGroup=7"},
		{"spec.initContainers[name=prepare].image=example.com/prepare:1"},
		{"spec.imagePullSecrets[name=theirs]"},
		{"spec.topologySpreadConstraints[topologyKey=zone,whenUnsatisfiable=ScheduleAnyway].maxSkew=1"},
		{"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution=[{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}]"},
		{"spec.dnsConfig.nameservers=[192.0.2.53]"},
	} {
		out = append(out, under(prefix, places))
	}
	return out
}

// podClashes returns the invalid combinations in a pod template at prefix.
func podClashes(prefix string) []clash {
	main := prefix + ".spec.containers[name=main]"
	clashes := []clash{
		{
			name: "hostPID", theirs: []place{"spec.hostPID=true"}, ours: []place{"spec.shareProcessNamespace=true"},
			loses: []string{prefix + ".spec.hostPID"}, unlessApplied: true,
		},
		{
			name: "livenessProbe", theirs: []place{"spec.containers[name=main].livenessProbe.tcpSocket.port=80"},
			ours:  []place{"spec.containers[name=main].livenessProbe.httpGet={port: 80, path: /, scheme: HTTP}"},
			loses: []string{main + ".livenessProbe.tcpSocket"}, unlessApplied: true,
		},
		{
			name: "lifecycle", theirs: []place{"spec.containers[name=main].lifecycle.preStop.exec.command=['true']"},
			ours:  []place{"spec.containers[name=main].lifecycle.preStop.sleep.seconds=3"},
			loses: []string{main + ".lifecycle.preStop.exec"}, unlessApplied: true,
		},
		{
			name: "volume", theirs: []place{"spec.volumes[name=data].emptyDir.medium=Memory"},
			ours:  []place{"spec.volumes[name=data].configMap={name: settings}"},
			loses: []string{prefix + ".spec.volumes[name=data].emptyDir"}, unlessApplied: true,
		},
		{
			name: "privileged", theirs: []place{"spec.containers[name=main].securityContext.privileged=true"},
			ours:  []place{"spec.containers[name=main].securityContext.allowPrivilegeEscalation=false"},
			loses: []string{main + ".securityContext.privileged"}, unlessApplied: true,
		},
		{
			name: "requests", theirs: []place{"spec.containers[name=main].resources.requests.cpu=2"},
			ours:  []place{"spec.containers[name=main].resources.limits.cpu=1"},
			loses: []string{main + ".resources.requests.cpu"}, unlessApplied: true,
		},
		{
			name: "valueFrom", theirs: []place{"spec.containers[name=main].env[name=X].valueFrom.fieldRef={apiVersion: v1, fieldPath: spec.nodeName}"},
			ours:  []place{"spec.containers[name=main].env[name=X].value=ours"},
			loses: []string{main + ".env[name=X].valueFrom"}, unlessApplied: true,
		},
		{
			name: "port name", theirs: []place{"spec.containers[name=main].ports[containerPort=8081,protocol=TCP].name=http"},
			ours:  []place{"spec.containers[name=main].ports[containerPort=8080,protocol=TCP].name=http"},
			loses: []string{main + ".ports[containerPort=8081,protocol=TCP]"}, unlessApplied: true,
		},
		{
			name: "host port", theirs: []place{"spec.containers[name=main].ports[containerPort=7000,protocol=TCP].hostPort=7001"},
			ours:  []place{"spec.hostNetwork=true"},
			loses: []string{main + ".ports[containerPort=7000,protocol=TCP]"}, unlessApplied: true,
		},
		{
			name: "mounted by a sidecar", before: []place{"spec.volumes[name=ours].emptyDir={}"},
			theirs: []place{"spec.containers[name=reader].image=example.com/reader:1", "spec.containers[name=reader].volumeMounts[mountPath=/read].name=ours"},
			ours:   []place{"-spec.volumes"}, unlessApplied: true, outcome: refused,
		},
		{
			name: "mounted in our container", before: []place{"spec.volumes[name=ours].emptyDir={}"},
			theirs: []place{"spec.containers[name=main].volumeMounts[mountPath=/read].name=ours"},
			ours:   []place{"-spec.volumes"}, unlessApplied: true, outcome: refused,
		},
	}
	for i := range clashes {
		c := &clashes[i]
		c.before, c.theirs, c.ours = under(prefix, c.before), under(prefix, c.theirs), under(prefix, c.ours)
	}
	return clashes
}

// workload is a kind that has a pod template.
func workload(name, prefix, first string, additions [][]place, clashes ...clash) kindCase {
	return kindCase{
		name: name, typed: true, first: first,
		additions: slices.Concat(podAdditions(prefix), additions), clashes: slices.Concat(podClashes(prefix), clashes),
	}
}
