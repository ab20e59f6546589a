package repair_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A lostFieldCase takes fields of ours in a way that no value shows afterwards.
type lostFieldCase struct {
	first, then string
	writes      []write
	noticed     ensure.Operation  // by the next call
	gone, stays []string          // once desired drops the fields
	kept        *ensure.KeptField // with the program that owns it, too
}

func lostFieldCases() map[string]lostFieldCase {
	return map[string]lostFieldCase{
		"a field changed and changed back": {
			first: with("spec:", "  minReadySeconds: 3"), then: deployment,
			writes: []write{
				{by: editor, yaml: `spec: {minReadySeconds: 4, paused: true}`},
				{by: editor, yaml: `spec: {minReadySeconds: 3}`},
			},
			noticed: ensure.Unchanged, kept: &ensure.KeptField{Path: "spec.minReadySeconds", Manager: editor},
			stays: []string{"spec.minReadySeconds=3", "spec.paused=true"},
		},
		"a label changed and changed back": {
			first: with("kind: Deployment", "metadata: {labels: {tier: front}}"), then: deployment,
			writes: []write{
				{by: editor, yaml: `metadata: {labels: {tier: back, team: theirs}}`},
				{by: editor, yaml: `metadata: {labels: {tier: front}}`},
			},
			noticed: ensure.Unchanged, kept: &ensure.KeptField{Path: "metadata.labels[tier]", Manager: editor},
			stays: []string{"metadata.labels.tier=front", "metadata.labels.team=theirs"},
		},
		"a variable of a container changed and changed back": {
			first: strings.Replace(deployment, "web:1}", "web:1, env: [{name: COLOR, value: blue}]}", 1), then: deployment,
			writes: []write{
				{by: editor, yaml: `spec: {template: {spec: {containers: [{name: main, env: [{name: COLOR, value: red}, {name: THEIRS, value: x}]}]}}}`},
				{by: editor, yaml: `spec: {template: {spec: {containers: [{name: main, env: [{name: COLOR, value: blue}]}]}}}`},
			},
			noticed: ensure.Unchanged, gone: []string{"spec.template.spec.containers[name=main].env[name=COLOR]"}, // the item is ours
			stays: []string{"spec.template.spec.containers[name=main].env[name=THEIRS].value=x"},
		},
		"managed fields emptied": {
			first: with("spec:", "  minReadySeconds: 3"), then: deployment,
			writes: []write{
				{by: editor, yaml: `spec: {paused: true}`},
				{by: editor, yaml: `metadata: {managedFields: [{}]}`},
			},
			noticed: ensure.Updated, gone: []string{"spec.minReadySeconds"}, stays: []string{"spec.paused=true"},
		},
		"managed fields emptied, and something applied by another": {
			first: with("spec:", "  minReadySeconds: 3"), then: deployment,
			writes: []write{
				{by: editor, yaml: `spec: {paused: true}`},
				{by: editor, yaml: `metadata: {managedFields: [{}]}`},
				{by: "flux", apply: true, yaml: "metadata: {name: NAME, namespace: NAMESPACE}\nspec: {revisionHistoryLimit: 10}"},
			},
			noticed: ensure.Updated, gone: []string{"spec.minReadySeconds"}, stays: []string{"spec.paused=true", "spec.revisionHistoryLimit=10"},
		},
	}
}

// TestLossIsNoticed: another program took a field from us without changing the value. It owns the field, too, and keeps it
// when desired drops it, which the result says. Emptied managed fields belong to nobody: the field goes.
func TestLossIsNoticed(t *testing.T) {
	t.Parallel()
	for name, tc := range lostFieldCases() {
		inBothForms(t, name, func(t *testing.T, typed bool) {
			t.Helper()
			f := newFixture(t, typed, nil)
			f.mustEnsure(tc.first)
			for _, w := range tc.writes {
				f.write(tc.first, w)
			}
			require.Equal(t, tc.noticed, f.mustEnsure(tc.first).Operation)
			mark := shared.Mark()
			require.Equal(t, ensure.Unchanged, f.mustEnsure(tc.first).Operation)
			requireOnlyReads(t, mark, f)

			dropped := f.mustEnsure(tc.then)
			require.Equal(t, ensure.Updated, dropped.Operation)
			if tc.kept != nil {
				require.Equal(t, []ensure.KeptField{*tc.kept}, dropped.Kept)
			}
			live := f.live(tc.then)
			for _, place := range tc.gone {
				require.Nil(t, at(live.Object, place), place)
			}
			requireAt(t, live, tc.stays...)
		})
	}
}

func requireOnlyReads(t *testing.T, since cluster.Mark, f *fixture) {
	t.Helper()
	for _, request := range program.Requests(t, shared, since, "operator of "+f.key.Namespace) {
		require.Equal(t, "get", request.Verb)
	}
}

// TestOwnedTwice: a field that an Update entry under our own name owns, too, is removed when
// desired drops it. The operator itself may write such entries.
func TestOwnedTwice(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(client.Client) client.Client{
		"read from the server":               func(c client.Client) client.Client { return c },
		"a cache that strips managed fields": func(c client.Client) client.Client { return &strippingClient{c} },
	} {
		inBothForms(t, name, func(t *testing.T, typed bool) {
			t.Helper()
			f := newFixture(t, typed, nil)
			f.ensurer = ensure.New(read(f.client), f.client, fieldOwner)
			desired := with("spec:", "  minReadySeconds: 3")
			f.mustEnsure(desired)
			f.write(deployment, write{by: fieldOwner, yaml: `spec: {minReadySeconds: 4, paused: true}`})
			f.write(deployment, write{by: fieldOwner, yaml: `spec: {minReadySeconds: 3}`})
			f.mustEnsure(strings.Replace(desired, "replicas: 1", "replicas: 2", 1))
			require.Contains(t, specified(f.live(deployment))["owners"], fieldOwner+" Update")

			f.mustEnsure(deployment)
			requireAt(t, f.live(deployment), "spec.paused=true")
			require.Nil(t, at(f.live(deployment).Object, "spec.minReadySeconds"))
		})
	}
}

// A strippingClient reads as from a cache that strips managed fields.
type strippingClient struct{ client.Client }

func (s *strippingClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := s.Client.Get(ctx, key, obj, opts...)
	obj.SetManagedFields(nil)
	return err
}
