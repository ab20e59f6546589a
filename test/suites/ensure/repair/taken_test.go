package repair_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// quotas is a custom kind with limits that several owners share.
const quotas = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: quotas.repair.example.com}
spec:
  group: repair.example.com
  scope: Namespaced
  names: {plural: quotas, singular: quota, kind: Quota, listKind: QuotaList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "!has(self.shares) || self.shares.all(s, s.weight <= 10) && self.shares.map(s, s.weight).sum() <= 10", message: shares exceed 10}
            - {rule: "!has(self.flags) || self.mode != 'strict' || self.flags.all(k, !k.endsWith('bad'))", message: strict goes without bad flags}
            - {rule: "!has(self.items) || self.items.all(a, self.items.exists_one(b, a.port == b.port))", message: ports differ}
            properties:
              mode: {type: string, maxLength: 10, default: open}
              names: {type: array, maxItems: 4, x-kubernetes-list-type: set, items: {type: string, maxLength: 10}}
              labels: {type: object, maxProperties: 4, additionalProperties: {type: string}}
              flags: {type: object, maxProperties: 300, additionalProperties: {type: boolean}}
              text: {type: object, properties: {ours: {type: string}, theirs: {type: string}, others: {type: string}}}
              items:
                type: array
                maxItems: 4
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name, port], properties: {name: {type: string, maxLength: 10}, port: {type: integer}}}
              shares:
                type: array
                maxItems: 10
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name, weight], properties: {name: {type: string, maxLength: 10}, weight: {type: integer}}}
`

func quota(spec string) string {
	return "{apiVersion: repair.example.com/v1, kind: Quota, spec: {" + spec + "}}"
}

func defineQuotas(t *testing.T) {
	t.Helper()
	program.Define(t, shared, quotas, schema.GroupVersionKind{Group: "repair.example.com", Version: "v1", Kind: "Quota"})
}

// An undecidedCase is a limit that desired exceeds together with several fields of others, of which no single one has
// to go.
type undecidedCase struct {
	first, then string
	others      []write
	names       []string // in the error
}

func undecidedCases() map[string]undecidedCase {
	full := func(kept ...string) []write {
		return []write{
			{by: editor, yaml: "spec: {" + strings.Join(kept, ", ") + "}"},
		}
	}
	return map[string]undecidedCase{
		"a full list": {
			first:  quota(`items: [{name: a, port: 1}]`),
			others: full(`items: [{name: a, port: 1}, {name: x, port: 2}, {name: w, port: 3}, {name: z, port: 4}]`),
			then:   quota(`items: [{name: a, port: 1}, {name: b, port: 5}]`),
			names:  []string{"spec.items[name=x]", "spec.items[name=w]", "spec.items[name=z]"},
		},
		"a full set": {
			first:  quota(`names: [a]`),
			others: full(`names: [a, x, w, z]`),
			then:   quota(`names: [a, b]`),
			names:  []string{"spec.names[x]", "spec.names[w]", "spec.names[z]"},
		},
		"a full map": {
			first:  quota(`labels: {a: ours}`),
			others: full(`labels: {x: "1", w: "2", z: "3"}`),
			then:   quota(`labels: {a: ours, b: ours}`),
			names:  []string{"spec.labels.x", "spec.labels.w", "spec.labels.z"},
		},
		"a sum": {
			first:  quota(`shares: [{name: a, weight: 4}]`),
			others: full(`shares: [{name: a, weight: 4}, {name: x, weight: 3}, {name: w, weight: 3}]`),
			then:   quota(`shares: [{name: a, weight: 6}]`),
			names:  []string{"spec.shares[name=x]", "spec.shares[name=w]"},
		},
		"a sum beside a field that another program applies": {
			first: quota(`shares: [{name: a, weight: 4}]`),
			others: []write{
				{by: "flux", apply: true, yaml: "metadata: {name: NAME, namespace: NAMESPACE}\nspec: {shares: [{name: x, weight: 3}]}"},
				{by: editor, yaml: `spec: {shares: [{name: a, weight: 4}, {name: x, weight: 3}, {name: w, weight: 3}]}`},
			},
			then:  quota(`shares: [{name: a, weight: 6}]`),
			names: []string{"spec.shares[name=w]"},
		},
		"a full list that desired does not have": {
			first:  quota(`mode: open`),
			others: full(`shares: [{name: x, weight: 3}, {name: w, weight: 3}]`, `items: [{name: x, port: 2}]`, `text: {theirs: x}`, `flags: {xbad: true}`),
			then:   quota(`mode: open, shares: [{name: a, weight: 7}]`),
			names:  []string{"spec.shares[name=x]", "spec.shares[name=w]"},
		},
		"data that is too long": {
			first: `{apiVersion: v1, kind: ConfigMap, data: {a: ours}}`,
			others: []write{
				{by: editor, yaml: `data: {x: ` + strings.Repeat("x", 500_000) + `}`},
				{by: other, yaml: `data: {w: ` + strings.Repeat("w", 400_000) + `}`},
			},
			then:  `{apiVersion: v1, kind: ConfigMap, data: {a: ` + strings.Repeat("a", 300_000) + `}}`,
			names: []string{"data.x", "data.w"},
		},
		"many keys that are too long": {
			first:  `{apiVersion: v1, kind: ConfigMap, data: {a: ours}}`,
			others: []write{{by: editor, yaml: `data: {` + manyKeys(200, 4_000) + `}`}},
			then:   `{apiVersion: v1, kind: ConfigMap, data: {a: ` + strings.Repeat("a", 300_000) + `}}`,
			names:  []string{"data.k0", " and 192 more"},
		},
	}
}

// manyKeys returns members with values of a length.
func manyKeys(count, length int) string {
	var members []string
	for i := range count {
		members = append(members, fmt.Sprintf("k%d: %s", i, strings.Repeat("v", length)))
	}
	return strings.Join(members, ", ")
}

// A dryRunCounter counts the dry runs of patches.
type dryRunCounter struct {
	client.Client

	dryRuns int
}

func (c *dryRunCounter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	var o client.PatchOptions
	o.ApplyOptions(opts)
	if len(o.DryRun) > 0 {
		c.dryRuns++
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

// newCountedFixture returns a fixture, and the counter of its dry runs.
func newCountedFixture(t *testing.T, typed bool) (*fixture, *dryRunCounter) {
	t.Helper()
	counter := &dryRunCounter{}
	f := newFixture(t, typed, func(c client.Client) client.Client {
		counter.Client = c
		return counter
	})
	return f, counter
}

// mostTrials is how many dry runs a repair takes at most: one more than trials shows the fields without an owner, and another one is
// the apply, with DryRun.
const mostTrials = 18 + 2

// TestUndecided: of several fields of others any could go, so none does. The error names all of them.
func TestUndecided(t *testing.T) {
	t.Parallel()
	defineQuotas(t)
	for name, tc := range undecidedCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, counter := newCountedFixture(t, false)
			f.mustEnsure(tc.first)
			for _, w := range tc.others {
				f.write(tc.first, w)
			}
			before := f.live(tc.first)
			for _, opts := range [][]ensure.Option{{ensure.DryRun()}, nil} {
				counter.dryRuns = 0
				_, err := f.ensure(tc.then, opts...)
				require.ErrorIs(t, err, ensure.ErrInvalid, "%.2000s", explain(err))
				for _, name := range tc.names {
					require.ErrorContains(t, err, name)
				}
				require.LessOrEqual(t, counter.dryRuns, mostTrials)
				require.Equal(t, before.Object, f.live(tc.first).Object)
			}
			_, err := f.ensureAllowingRecreation(tc.then)
			require.Error(t, err)
			require.Equal(t, before.Object, f.live(tc.first).Object)
		})
	}
}

// decided are cases in which a field goes although there are others that could be suspected.
func decided() map[string]repairCase {
	return map[string]repairCase{
		"the only item of others in a full list": {
			first:  quota(`names: [a, b, c]`),
			others: []write{{by: editor, yaml: `spec: {names: [a, b, c, x]}`}, {by: other, yaml: `spec: {text: {theirs: x}}`}},
			then:   quota(`names: [a, b, c, d]`),
			keeps:  []string{"spec.text.theirs=x"},
			gains:  []string{"spec.names=[a b c d]"},
			from:   []string{editor},
		},
		"one item that conflicts in a full list": {
			first: quota(`items: [{name: a, port: 1}]`),
			others: []write{
				{by: other, yaml: `spec: {items: [{name: a, port: 1}, {name: x, port: 2}, {name: w, port: 3}]}`},
				{by: editor, yaml: `spec: {items: [{name: a, port: 1}, {name: x, port: 2}, {name: w, port: 3}, {name: z, port: 4}]}`},
			},
			then:  quota(`items: [{name: a, port: 1}, {name: b, port: 4}]`),
			keeps: []string{"spec.items[name=x].port=2", "spec.items[name=w].port=3"},
			gains: []string{"spec.items[name=b].port=4"},
			loses: []string{"spec.items[name=z]"},
			from:  []string{editor},
		},
		"all of a sum": {
			first:  quota(`shares: [{name: a, weight: 4}]`),
			others: []write{{by: editor, yaml: `spec: {shares: [{name: a, weight: 4}, {name: x, weight: 3}, {name: w, weight: 3}]}`}},
			then:   quota(`shares: [{name: a, weight: 10}]`),
			gains:  []string{"spec.shares[name=a].weight=10"},
			loses:  []string{"spec.shares[name=x]", "spec.shares[name=w]"},
			from:   []string{editor},
		},
		"a field of others beside an item that does not fit for another reason": {
			first: quota(`items: [{name: a, port: 1}], mode: open`),
			others: []write{
				{by: editor, yaml: `spec: {flags: {xbad: true, good: true}}`},
				{by: other, yaml: `spec: {items: [{name: a, port: 1}, {name: x, port: 2}]}`},
			},
			then:  quota(`items: [{name: a, port: 1}, {name: b, port: 2}], mode: strict`),
			keeps: []string{"spec.flags.good=true"},
			gains: []string{"spec.mode=strict", "spec.items[name=b].port=2"},
			loses: []string{"spec.flags.xbad", "spec.items[name=x]"},
			from:  []string{editor, other},
		},
	}
}

func TestDecided(t *testing.T) {
	t.Parallel()
	defineQuotas(t)
	for name, tc := range decided() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newFixture(t, false, nil).run(tc)
		})
	}
}

// TestDryRunsOfARepair: a repair finds a few conflicts among many fields by at most 18 dry runs. Where it does not, it
// names fields, and nothing is removed.
func TestDryRunsOfARepair(t *testing.T) {
	t.Parallel()
	defineQuotas(t)
	for _, fields := range []int{10, 50, 200} {
		for _, conflicts := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%d among %d", conflicts, fields), func(t *testing.T) {
				t.Parallel()
				f, counter := newCountedFixture(t, false)
				f.mustEnsure(quota(`mode: open`))
				f.write(quota(""), write{by: editor, yaml: "spec: {flags: {" + strings.Join(flags(fields, conflicts), ", ") + "}}"})
				before := f.live(quota(""))
				_, err := f.ensure(quota(`mode: strict, flags: {ours: true}`))
				t.Logf("%d dry runs, %.200v", counter.dryRuns, err)
				require.LessOrEqual(t, counter.dryRuns, mostTrials)
				after := f.live(quota(""))
				left, _ := at(after.Object, "spec.flags").(map[string]any)
				if conflicts > 2 || conflicts == 2 && fields > 50 {
					if err != nil {
						require.ErrorIs(t, err, ensure.ErrInvalid)
						require.ErrorContains(t, err, " more")
						require.Equal(t, before.Object, after.Object)
						return
					}
				}
				require.NoError(t, err)
				require.Len(t, left, fields-conflicts+1)
			})
		}
	}
}

// flags returns names of flags, of which a few, spread among the others, are bad.
func flags(count, bad int) []string {
	var members []string
	for i := range count {
		members = append(members, fmt.Sprintf("f%03d: true", i))
	}
	for i := range bad {
		at := (i*count/bad + count/3) % count
		members[at] = fmt.Sprintf("f%03d-bad: true", at)
	}
	return members
}

// TestVolumeOfAnotherKind: a volume has one source. A person added another one, or desired changes it, beside many fields
// of others.
func TestVolumeOfAnotherKind(t *testing.T) {
	t.Parallel()
	volume := func(source string) string { return with("    spec:", "      volumes: [{name: data, "+source+"}]") }
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf(`{name: sidecar%d, image: "x:1", env: [{name: A, value: b}], resources: {limits: {cpu: 1}}}`, i))
	}
	sidecars := write{by: mesh, yaml: `spec: {template: {metadata: {annotations: {theirs: x}}, spec: {containers: [` + strings.Join(many, ", ") + `]}}}`}
	edited := func(source string) []write {
		return []write{sidecars, {by: editor, yaml: `spec: {template: {spec: {volumes: [{name: data, ` + source + `}]}}}`}}
	}
	const empty, configMap = "emptyDir: {}", "configMap: {name: a}"
	for name, tc := range map[string]struct {
		first, then string
		others      []write
	}{
		"desired changes":            {volume(empty), volume(configMap), []write{sidecars}},
		"desired had no source":      {with("    spec:", "      volumes: [{name: data}]"), volume(configMap), []write{sidecars}},
		"somebody changed it":        {volume(empty), volume(configMap), edited("emptyDir: {sizeLimit: 1Gi}")},
		"somebody turned it round":   {volume(empty), volume(configMap), edited("secret: {secretName: x}, emptyDir: null")},
		"it is turned back by drift": {volume(configMap), volume(configMap), edited("secret: {secretName: x}, configMap: null")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, counter := newCountedFixture(t, true)
			f.mustEnsure(tc.first)
			for _, w := range tc.others {
				f.write(tc.first, w)
			}
			f.mustEnsure(tc.then)
			require.LessOrEqual(t, counter.dryRuns, mostTrials)
			live := f.live(tc.then)
			requireAt(t, live, "spec.template.spec.volumes[name=data].configMap.name=a", "spec.template.spec.containers[name=sidecar59].image=x:1")
			require.Len(t, at(live.Object, "spec.template.spec.volumes[name=data]"), 2)
		})
	}
}
