package repair_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const (
	editor = "kubectl-edit"
	mesh   = "mesh-injector"
	other  = "another-operator"
)

const service = `{apiVersion: v1, kind: Service, spec: {selector: {app: web}, ports: [{name: http, port: 80, protocol: TCP}]}}`

// Changes of other programs to the ports of a Service.
var (
	metricsPort = write{by: other, yaml: `spec: {ports: [{name: metrics, port: 9090, protocol: TCP}]}`}
	movedPort   = write{by: editor, yaml: `spec: {ports: [{name: http, port: 81, protocol: TCP}, {port: 80, $patch: delete}]}`}
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: example.com/web:1}
`

// with is our Deployment with a line more, below another one.
func with(line, more string) string {
	return strings.Replace(deployment, line+"\n", line+"\n"+more+"\n", 1)
}

// othersFields are fields that other programs add to a Deployment.
const othersFields = `
metadata: {labels: {team: theirs}}
spec:
  minReadySeconds: 7
  template:
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{key: theirs, operator: Exists}]
      volumes: [{name: theirs, emptyDir: {}}]
      containers:
      - {name: sidecar, image: example.com/sidecar:1, volumeMounts: [{name: theirs, mountPath: /theirs}]}
      - {name: main, env: [{name: THEIRS, value: "1"}]}
`

var othersFieldsKept = []string{
	"metadata.labels[team]=theirs",
	"spec.template.spec.nodeSelector[disk]=ssd",
	"spec.template.spec.tolerations[key=theirs].operator=Exists",
	"spec.template.spec.volumes[name=theirs].name=theirs",
	"spec.template.spec.containers[name=sidecar].image=example.com/sidecar:1",
	"spec.template.spec.containers[name=main].env[name=THEIRS].value=1",
}

func repairCases() map[string]repairCase {
	return map[string]repairCase{
		"an edited port of a Service": {
			first:  service,
			others: []write{metricsPort, movedPort},
			keeps:  []string{"spec.ports[name=metrics].port=9090"},
			gains:  []string{"spec.ports[name=http].port=80"},
			loses:  []string{"spec.ports[port=81]"},
			from:   []string{editor},
		},
		"hostPID beside shareProcessNamespace": {
			first:  deployment,
			others: []write{{by: mesh, yaml: othersFields}, {by: editor, yaml: `spec: {template: {spec: {hostPID: true}}}`}},
			then:   with("    spec:", "      shareProcessNamespace: true"),
			keeps:  append(othersFieldsKept, "spec.minReadySeconds=7"),
			gains:  []string{"spec.template.spec.shareProcessNamespace=true"},
			loses:  []string{"spec.template.spec.hostPID"},
			from:   []string{editor},
		},
		"a request beyond a limit": {
			first:  limited("1"),
			others: []write{{by: mesh, yaml: othersFields}, {by: editor, yaml: requested}},
			then:   limited("200m"),
			keeps:  append(othersFieldsKept, "spec.template.spec.containers[name=main].resources.requests.memory=1Gi"),
			gains:  []string{"spec.template.spec.containers[name=main].resources.limits.cpu=200m"},
			loses:  []string{"spec.template.spec.containers[name=main].resources.requests.cpu"},
			from:   []string{editor},
		},
		"minReadySeconds beyond progressDeadlineSeconds": {
			first:  deployment,
			others: []write{{by: mesh, yaml: othersFields}, {by: editor, yaml: `spec: {minReadySeconds: 100}`}},
			then:   with("spec:", "  progressDeadlineSeconds: 60"),
			keeps:  othersFieldsKept,
			gains:  []string{"spec.progressDeadlineSeconds=60"},
			loses:  []string{"spec.minReadySeconds"},
			from:   []string{editor},
		},
		"another kind of probe": {
			first:  with("      - {name: main, image: example.com/web:1}", "        # probed"),
			others: []write{{by: mesh, yaml: othersFields}, {by: editor, yaml: `spec: {template: {spec: {containers: [{name: main, livenessProbe: {tcpSocket: {port: 80}}}]}}}`}},
			then:   strings.Replace(deployment, "image: example.com/web:1", "image: example.com/web:1, livenessProbe: {httpGet: {port: 80}}", 1),
			keeps:  othersFieldsKept,
			gains:  []string{"spec.template.spec.containers[name=main].livenessProbe.httpGet.port=80"},
			loses:  []string{"spec.template.spec.containers[name=main].livenessProbe.tcpSocket"},
			from:   []string{editor},
		},
		"a default that goes with another strategy": {
			first:  deployment,
			others: []write{{by: mesh, yaml: othersFields}},
			then:   with("spec:", "  strategy: {type: Recreate}"),
			keeps:  othersFieldsKept,
			gains:  []string{"spec.strategy.type=Recreate"},
			loses:  []string{"spec.strategy.rollingUpdate"},
		},
		"a budget that a user turned round": {
			first:  `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}`,
			others: []write{{by: editor, yaml: `spec: {maxUnavailable: 1, minAvailable: null, unhealthyPodEvictionPolicy: AlwaysAllow}`}},
			keeps:  []string{"spec.unhealthyPodEvictionPolicy=AlwaysAllow"},
			gains:  []string{"spec.minAvailable=1"},
			loses:  []string{"spec.maxUnavailable"},
			from:   []string{editor},
		},
		"a budget that is turned round after an edit": {
			first:  `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}`,
			others: []write{{by: editor, yaml: `spec: {minAvailable: 2}`}},
			then:   `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}}`,
			gains:  []string{"spec.maxUnavailable=1"},
			loses:  []string{"spec.minAvailable"},
			from:   []string{editor},
		},
		"an autoscaler's minimum beyond our maximum": {
			first: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 20, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
			others: []write{
				{by: other, yaml: `spec: {behavior: {scaleDown: {stabilizationWindowSeconds: 30}}}`}, {by: editor, yaml: `spec: {minReplicas: 10}`},
			},
			then:  `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
			keeps: []string{"spec.behavior.scaleDown.stabilizationWindowSeconds=30"},
			gains: []string{"spec.maxReplicas=5", "spec.minReplicas=1"},
			from:  []string{editor},
		},
		"source ranges of what is no load balancer any more": {
			first: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: http, port: 80, protocol: TCP}]}}`,
			others: []write{
				{by: other, yaml: `spec: {publishNotReadyAddresses: true}`}, {by: editor, yaml: `spec: {loadBalancerSourceRanges: [10.0.0.0/8]}`},
			},
			then:  `{apiVersion: v1, kind: Service, spec: {type: ClusterIP, selector: {app: web}, ports: [{name: http, port: 80, protocol: TCP}]}}`,
			keeps: []string{"spec.publishNotReadyAddresses=true"},
			gains: []string{"spec.type=ClusterIP"},
			loses: []string{"spec.loadBalancerSourceRanges"},
			from:  []string{editor},
		},
	}
}

// untyped are cases of kinds that the operator has no Go type of.
func untyped() map[string]repairCase {
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  CONVERSION
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	conversion := `conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: NAMESPACE, name: webhook}}}}`
	return map[string]repairCase{
		"an injected bundle of a conversion that is dropped": {
			first: strings.Replace(definition, "CONVERSION", conversion, 1),
			others: []write{
				{by: other, yaml: `metadata: {annotations: {theirs: x}}`},
				{by: "cainjector", yaml: `spec: {conversion: {webhook: {clientConfig: {caBundle: BUNDLE}}}}`},
			},
			then:  strings.Replace(definition, "CONVERSION\n", "\n", 1),
			keeps: []string{"metadata.annotations[theirs]=x"},
			gains: []string{"spec.conversion.strategy=None"},
			loses: []string{"spec.conversion.webhook"},
			from:  []string{"cainjector"},
		},
		"an injected bundle beside insecureSkipTLSVerify": {
			first: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.NAME.example.com}, spec: {group: NAME.example.com,
				version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {namespace: NAMESPACE, name: api}}}`,
			others: []write{
				{by: other, yaml: `metadata: {labels: {theirs: x}}`},
				{by: "cainjector", yaml: `spec: {caBundle: BUNDLE}`},
			},
			then: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.NAME.example.com}, spec: {group: NAME.example.com,
				version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: NAMESPACE, name: api}}}`,
			keeps: []string{"metadata.labels[theirs]=x"},
			gains: []string{"spec.insecureSkipTLSVerify=true"},
			loses: []string{"spec.caBundle"},
			from:  []string{"cainjector"},
		},
		"a custom kind with one of two": {
			first: `{apiVersion: repair.example.com/v1, kind: Source, spec: {git: {url: "https://example.com"}, items: [{name: ours, port: 1}]}}`,
			others: []write{
				{by: other, yaml: `spec: {items: [{name: ours, port: 1}, {name: theirs, port: 2}], interval: 7m}`},
				{by: editor, yaml: `spec: {git: null, oci: {ref: x, tag: "1"}}`},
			},
			keeps: []string{"spec.items[name=theirs].port=2", "spec.interval=7m"},
			gains: []string{"spec.git.url=https://example.com"},
			loses: []string{"spec.oci"},
			from:  []string{editor},
		},
		"an item of a custom list": {
			first: `{apiVersion: repair.example.com/v1, kind: Source, spec: {git: {url: "https://example.com"}, items: [{name: ours, port: 1}]}}`,
			others: []write{
				{by: other, yaml: `spec: {items: [{name: ours, port: 1}, {name: theirs, port: 2}]}`},
				{by: editor, yaml: `spec: {items: [{name: moved, port: 1}, {name: theirs, port: 2}]}`},
			},
			keeps: []string{"spec.items[name=theirs].port=2"},
			gains: []string{"spec.items[name=ours].port=1"},
			loses: []string{"spec.items[name=moved]"},
			from:  []string{editor},
		},
	}
}

// sources is a custom kind: one of git and oci, and items whose ports differ.
const sources = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sources.repair.example.com}
spec:
  group: repair.example.com
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
            properties:
              interval: {type: string}
              git: {type: object, properties: {url: {type: string}}}
              oci: {type: object, properties: {ref: {type: string}, tag: {type: string}}}
              items:
                type: array
                maxItems: 8
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}
`

// TestRepair: an apply that is refused because of other owners' fields is made possible, and
// nothing else of theirs is lost.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, tc := range repairCases() {
		inBothForms(t, name, func(t *testing.T, typed bool) {
			t.Helper()
			newFixture(t, typed, nil).run(tc)
		})
	}
}

// inBothForms runs a test with objects of Go types and with unstructured ones; with -short, with those that the
// length of the name chooses.
func inBothForms(t *testing.T, name string, test func(t *testing.T, typed bool)) {
	t.Helper()
	for form, typed := range map[string]bool{"typed": true, "unstructured": false} {
		if testing.Short() && typed == (len(name)%2 == 0) {
			continue
		}
		t.Run(name+" "+form, func(t *testing.T) {
			t.Parallel()
			test(t, typed)
		})
	}
}

func TestRepairOfKindsWithoutAGoType(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, sources, schema.GroupVersionKind{Group: "repair.example.com", Version: "v1", Kind: "Source"})
	for name, tc := range untyped() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newFixture(t, false, nil).run(tc)
		})
	}
}

// TestRepairOfWhatNobodyOwns: managed fields that a user emptied name no owners, with or without
// entries of later writes.
func TestRepairOfWhatNobodyOwns(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, sources, schema.GroupVersionKind{Group: "repair.example.com", Version: "v1", Kind: "Source"})
	emptied := write{by: editor, yaml: `metadata: {managedFields: [{}]}`}
	for after, writes := range map[string][]write{
		"no entries":          {emptied},
		"an entry of a label": {emptied, {by: other, yaml: `metadata: {labels: {theirs: x}}`}},
		"an entry of status": {emptied, {by: other, status: true, yaml: `status: {conditions: [
			{type: Theirs, status: "True", reason: Test, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`}},
	} {
		for name, tc := range repairCases() {
			if name == "a request beyond a limit" {
				continue // the server removes what is nobody's with the last field of the map that is ours
			}
			tc.others, tc.from = slices.Concat(tc.others, writes), nil
			inBothForms(t, after+", "+name, func(t *testing.T, typed bool) {
				t.Helper()
				newFixture(t, typed, nil).run(tc)
			})
		}
		for name, tc := range untyped() {
			if name == "an injected bundle of a conversion that is dropped" {
				continue // what desired drops is nobody's by now, too, and stays
			}
			t.Run(after+", "+name, func(t *testing.T) {
				t.Parallel()
				tc.others, tc.from = slices.Concat(tc.others, writes), nil
				newFixture(t, false, nil).run(tc)
			})
		}
	}
}

// TestRepairBesideAWriter: a port that somebody adds between our requests stays.
func TestRepairBesideAWriter(t *testing.T) {
	t.Parallel()
	for request := range 4 { // the apply, a trial, the one that takes over, the apply
		inBothForms(t, fmt.Sprintf("before write %d", request+1), func(t *testing.T, typed bool) {
			t.Helper()
			var f *fixture
			f = newFixture(t, typed, func(c client.Client) client.Client {
				return &interceptingClient{Client: c, at: request + 1, do: func() { f.write(service, metricsPort) }}
			})
			f.mustEnsure(service)
			f.write(service, movedPort)
			f.mustEnsure(service)
			requireAt(t, f.live(service), "spec.ports[name=http].port=80", "spec.ports[name=metrics].port=9090")
			require.Len(t, at(f.live(service).Object, "spec.ports"), 2)
		})
	}
}

// TestRepairBreaksOff: any request may fail, before or after the server has carried it out. A later
// pass of another process finishes the repair, and fields that desired drops then are removed.
func TestRepairBreaksOff(t *testing.T) {
	t.Parallel()
	for request := range 4 {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, done: %t", request+1, done), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, true, func(c client.Client) client.Client {
					return &program.FailingClient{Client: c, FailAt: request + 1, Delivered: done}
				})
				f.mustEnsure(service)
				f.write(service, metricsPort)
				f.write(service, movedPort)
				_, err := f.ensure(service)
				require.ErrorIs(t, err, program.ErrConnectionLost)

				f.ensurer = ensure.New(f.client, f.client, fieldOwner)
				f.mustEnsure(service)
				requireAt(t, f.live(service), "spec.ports[name=http].port=80", "spec.ports[name=metrics].port=9090")
				require.Len(t, at(f.live(service).Object, "spec.ports"), 2)
				f.mustEnsure(strings.Replace(service, "ports: [{name: http, port: 80, protocol: TCP}]", "ports: [{name: https, port: 443, protocol: TCP}]", 1))
				require.Nil(t, at(f.live(service).Object, "spec.ports[name=http]"))
				requireAt(t, f.live(service), "spec.ports[name=metrics].port=9090")
			})
		}
	}
}

// An interceptingClient runs a function before one of its patches; the first patch, the creation, has
// the number 0.
type interceptingClient struct {
	client.Client

	at, patches int
	do          func()
}

func (m *interceptingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if m.patches == m.at {
		m.do()
	}
	m.patches++
	return m.Client.Patch(ctx, obj, patch, opts...)
}

// TestRepairStopsAtAnApply: a field that another program applies would come back. The program is
// therefore named instead, and the field is never a reason to delete.
func TestRepairStopsAtAnApply(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, nil)
	f.mustEnsure(deployment)
	f.write(deployment, write{by: "flux", apply: true, yaml: `
metadata: {name: NAME, namespace: NAMESPACE}
spec: {minReadySeconds: 100}`})
	before := f.live(deployment)
	_, err := f.ensureAllowingRecreation(with("spec:", "  progressDeadlineSeconds: 60"))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, "spec.minReadySeconds, which flux sets")
	require.Equal(t, specified(before), specified(f.live(deployment)))
}

// TestImmutableStaysSo: an immutable field that no removal helps is named, and other owners keep
// their fields.
func TestImmutableStaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, nil)
	f.mustEnsure(deployment)
	f.write(deployment, write{by: mesh, yaml: othersFields})
	before := f.live(deployment)
	_, err := f.ensure(strings.ReplaceAll(deployment, "{app: web}", "{app: other}"))
	require.ErrorIs(t, err, ensure.ErrImmutable, "%s", explain(err))
	require.Equal(t, specified(before), specified(f.live(deployment)))
}

// TestRefusalIsRemembered: a permanent refusal costs one request.
func TestRefusalIsRemembered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, nil)
	f.mustEnsure(deployment)
	changed := strings.ReplaceAll(deployment, "{app: web}", "{app: other}")
	_, err := f.ensure(changed)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	mark := shared.Mark()
	for range 10 {
		_, err := f.ensure(changed)
		require.ErrorIs(t, err, ensure.ErrImmutable)
	}
	requireOnlyReads(t, mark, f)
}
