package repair_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A keptCase drops fields from desired.
type keptCase struct {
	first, then string
	writes      []write
	kept        []ensure.KeptField
}

func keptCases() map[string]keptCase {
	applied := func(spec string) write {
		return write{by: "flux", apply: true, yaml: "metadata: {name: NAME, namespace: NAMESPACE}\n" + spec}
	}
	nodePort := func(port string) string {
		return `{apiVersion: v1, kind: Service, spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, protocol: TCP` + port + `}]}}`
	}
	headless := func(fields string) string {
		return `{apiVersion: v1, kind: Service, spec: {selector: {app: web}, ports: [{port: 80, protocol: TCP}]` + fields + `}}`
	}
	return map[string]keptCase{
		"a headless Service": {
			first: headless(", clusterIP: None"), then: headless(""),
			kept: []ensure.KeptField{{Path: "spec.clusterIP"}},
		},
		"a node port": {
			first: nodePort(", nodePort: 30005"), then: nodePort(""),
			kept: []ensure.KeptField{{Path: "spec.ports[port=80,protocol=TCP].nodePort"}},
		},
		"a family policy": {
			first: headless(", ipFamilyPolicy: PreferDualStack"), then: headless(""),
			kept: []ensure.KeptField{{Path: "spec.ipFamilyPolicy"}},
		},
		"a field that another program applies, too": {
			first: with("spec:", "  minReadySeconds: 3"), then: deployment,
			writes: []write{applied("spec: {minReadySeconds: 3}")},
			kept:   []ensure.KeptField{{Path: "spec.minReadySeconds", Manager: "flux"}},
		},
		"an item and a label that another program applies, too": {
			first: strings.Replace(with("kind: Deployment", "metadata: {labels: {tier: front}}"), "- {name: main", "- {name: proxy, image: \"x:1\"}\n      - {name: main", 1),
			then:  deployment,
			writes: []write{applied(`
metadata: {name: NAME, namespace: NAMESPACE, labels: {tier: front}}
spec: {template: {spec: {containers: [{name: proxy, image: "x:1"}]}}}`)},
			kept: []ensure.KeptField{
				{Path: "metadata.labels[tier]", Manager: "flux"},
				{Path: "spec.template.spec.containers[name=proxy]", Manager: "flux"},
			},
		},
		"fields whose default comes back": {
			first: with("spec:", "  minReadySeconds: 3\n  revisionHistoryLimit: 3"), then: deployment,
		},
		"a field that had the default": {
			first: with("spec:", "  progressDeadlineSeconds: 600"), then: deployment,
			kept: []ensure.KeptField{{Path: "spec.progressDeadlineSeconds"}},
		},
		"an empty list where the default is": {
			first: bag(`defaulted: {set: [x]}`), then: bag(`defaulted: {set: [x], items: []}`),
			kept: []ensure.KeptField{{Path: "defaulted.items"}},
		},
		"an empty list where somebody has an item": {
			first: bag(`required: {set: [x], items: []}`), then: bag(`required: {set: [x, z], items: []}`),
			writes: []write{{by: editor, yaml: `required: {items: [{name: theirs}]}`}},
		},
	}
}

// TestKept: a result names the fields that desired dropped and that the object still has, in a dry run, too. It costs
// no request.
func TestKept(t *testing.T) {
	t.Parallel()
	defineBags(t)
	for name, tc := range keptCases() {
		inBothForms(t, name, func(t *testing.T, typed bool) {
			t.Helper()
			first := tc.first
			if typed { // two Services cannot have one port
				first = strings.Replace(first, "30005", "30006", 1)
			}
			f := newFixture(t, typed && !strings.Contains(tc.first, "kind: Bag"), nil)
			f.mustEnsure(first)
			for _, w := range tc.writes {
				f.write(first, w)
			}
			planned, err := f.ensure(tc.then, ensure.DryRun())
			require.NoError(t, err, "%s", explain(err))
			mark := shared.Mark()
			res := f.mustEnsure(tc.then)
			require.Len(t, program.Requests(t, shared, mark, "operator of "+f.key.Namespace), 2)
			for _, result := range []ensure.Result[client.Object]{planned, res} {
				require.Equal(t, ensure.Updated, result.Operation)
				require.Empty(t, cmp.Diff(tc.kept, result.Kept))
			}
			mark = shared.Mark()
			for range 3 {
				res := f.mustEnsure(tc.then)
				require.Equal(t, ensure.Unchanged, res.Operation)
				require.Empty(t, res.Kept)
			}
			requireOnlyReads(t, mark, f)
		})
	}
}
