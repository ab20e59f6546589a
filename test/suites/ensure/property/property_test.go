package property_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestNothingOfOthersIsLost runs random rounds. Round 17 of seed 2 alone is
//
//	go test ./ensure/property -run 'TestNothingOfOthersIsLost/seed_2/round_17$'
func TestNothingOfOthersIsLost(t *testing.T) {
	c := program.Client(t, shared, "property")
	define(t, c)
	kinds := kindCases()
	rounds := []int{334, 333, 333}
	if testing.Short() {
		rounds = []int{len(kinds) * 3 / 2}
	}
	for i, count := range rounds {
		seed := i + 1
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			namespace := shared.Namespace(t)
			for number := range count {
				t.Run(fmt.Sprintf("round %d", number), func(t *testing.T) {
					t.Parallel()
					r := &round{
						t: t, rng: rand.New(rand.NewPCG(uint64(seed), uint64(number))), kindCase: kinds[number%len(kinds)],
						name: fmt.Sprintf("s%d-r%d", seed, number), namespace: namespace, client: c,
						operator: &operatorClient{Client: c, faults: map[int]*fault{}}, applies: map[string][]place{},
					}
					r.newEnsurer()
					r.run()
				})
			}
		})
	}
}

func define(t *testing.T, c client.Client) {
	t.Helper()
	require.NoError(t, apiextensionsv1.AddToScheme(c.Scheme()))
	for text := range strings.SplitSeq(definitions, "---\n") {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.UnmarshalStrict([]byte(text), definition))
		require.NoError(t, cluster.Define(t.Context(), c, definition))
	}
}

// contextOf returns a context for the cleanup after a test.
func contextOf(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
