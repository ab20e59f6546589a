package moves_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A world is where rounds of one kind take place.
type world struct {
	kind             *kindCase
	operator, others client.Client
	namespace        string
	owner            *corev1.ConfigMap
	rounds           atomic.Int32
}

func newWorld(t *testing.T, kind *kindCase) *world {
	t.Helper()
	w := &world{
		kind: kind, namespace: shared.Namespace(t),
		operator: program.Client(t, shared, fieldOwner), others: program.Client(t, shared, "others"),
	}
	if kind.name == "Machine" {
		program.Define(t, shared, machines, schema.GroupVersionKind{Group: "moves.example.com", Version: "v1", Kind: "Machine"})
	}
	w.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "owner"}}
	require.NoError(t, w.others.Create(t.Context(), w.owner))
	w.owner.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return w
}

// play plays a script with a new pair of objects.
func (w *world) play(t tb, s script) {
	number := w.rounds.Add(1)
	object := func(name string) *object {
		return &object{name: fmt.Sprintf("%s-%d", name, number), client: &faultyClient{Client: w.operator}}
	}
	r := &round{
		t: t, kind: w.kind, script: s, client: w.others, namespace: w.namespace, owner: w.owner,
		born: object("born"), migrated: object("migrated"),
	}
	r.run()
}

// TestMoves plays random scripts.
func TestMoves(t *testing.T) {
	for _, kind := range kindCases() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &kind)
			generator := scripts(&kind)
			rapid.Check(t, func(t *rapid.T) { w.play(t, generator.Draw(t, "script")) })
		})
	}
}

// TestScripts plays scripts that failed once, or nearly.
func TestScripts(t *testing.T) {
	scripts := map[string]map[string]script{
		"Deployment": {
			"managed fields are emptied before another handler": {Steps: []string{"want liveness=exec", "empty", "want liveness=http"}},
			"the same for an adopted object": {
				IsAdopted: true, Steps: []string{"want liveness=exec", "empty", "want liveness=http"},
			},
			"the older version has another handler": {
				Older: []string{"liveness=exec", "volume=secret", "envA=field"},
				Steps: []string{"want liveness=http; want volume=empty; want envA=value", "drop liveness; drop volume; drop envA"},
			},
			"two probes have other handlers": {
				First: []string{"liveness=grpc", "readiness=grpc"}, Older: []string{"liveness=http", "readiness=http"},
			},
			"a probe has another handler, and a volume another source": {
				First: []string{"liveness=tcp", "readiness=https", "volume=config"}, Older: []string{"liveness=https", "volume=empty"},
			},
			"two probes and a volume, which desired gains after the migration": {
				Older: []string{"liveness=exec", "readiness=exec", "volume=secret"},
				Steps: []string{"want liveness=tcp; want readiness=tcp; want volume=empty"},
			},
			"the same after managed fields are emptied": {
				First: []string{"liveness=http", "readiness=http", "strategy=surge"},
				Steps: []string{"empty; want liveness=grpc; want readiness=grpc; want strategy=recreate"},
			},
			"the same, later, with the strategy": {
				Older: []string{"liveness=http", "readiness=http", "strategy=surge"},
				Steps: []string{"want liveness=grpc; want readiness=grpc; want strategy=recreate"},
			},
			"the older version writes beside a handler": {
				First: []string{"liveness=http", "strategy=surge"}, Older: []string{"oldThreshold=seven", "oldUnavailable=three"},
				Steps: []string{"older oldThreshold=seven", "want strategy=recreate; want liveness=exec", "drop liveness; drop strategy"},
			},
			"the older version comes back while MigrateFrom is left out": {
				First: []string{"liveness=http", "side=probed"}, Older: []string{"oldSideEnv=value"},
				Steps: []string{
					"migrate off", "older liveness=exec; older oldEnv=value", "want liveness=tcp", "migrate on",
					"drop liveness; drop side", "retire oldEnv",
				},
			},
			"a crash between the two writes of a migration": {
				First: []string{"readiness=https", "note=x"}, Older: []string{"oldNote=x"},
				Steps: []string{"restart; older note=z; fail 1 lost; restart; drop readiness", "drop note"},
			},
			"a person removes and adds an item, an apply fails, and desired drops the item": {
				First: []string{"envA=value", "port=named"},
				Steps: []string{"readd envA; readd port; want label=x; fail 0 lost", "drop envA; drop port"},
			},
			"released, taken back with another source, retired": {
				First: []string{"volume=config", "replicas=two"},
				Steps: []string{
					"release volume; want label=x", "want volume=secret", "release volume", "retire volume",
					"once replicas; want replicas=zero", "plain replicas",
				},
			},
		},
		"ConfigMap": {
			"emptied, then a pass whose answer is lost": {
				First: []string{"label=x"}, Older: []string{"oldLabel=x"}, Steps: []string{"empty; fail 0 delivered", "drop label"},
			},
			"the older version sets its keys again and again": {
				First: []string{"a=x"}, Older: []string{"old=x", "a=z"},
				Steps: []string{"older old=z; restart", "older a=z", "drop a", "older a=x", "retire a; retire old", "plain old; older old=x"},
			},
		},
		"Service": {
			"the older version writes the value that desired drops": {
				First: []string{"type=node"}, Steps: []string{"drop type; older type=node", "want type=balancer", "drop type"},
			},
			"the older version replaces a released item that desired takes back": {
				Steps: []string{"want http=app", "release http", "older http=name; want http=name", "drop http"},
			},
			"emptied before a change of a port": {First: []string{"http=app"}, Steps: []string{"empty", "want http=number"}},
		},
		"Machine": {
			"emptied, then a change inside an item": {
				First: []string{"slot=gas"}, Steps: []string{"want slot=z", "empty; fail 0 delivered; want slot=power"},
			},
			"one of two": {
				First: []string{"engine=gas"}, Older: []string{"engine=cooled", "oldStart=x", "slot=power"},
				Steps: []string{"want slot=gas", "want engine=power; sets engineFlag", "drop engine; drop slot"},
			},
		},
	}
	for _, kind := range kindCases() {
		for name, s := range scripts[strings.TrimSuffix(kind.name, " without a Go type")] {
			t.Run(kind.name+": "+name, func(t *testing.T) {
				t.Parallel()
				newWorld(t, &kind).play(t, s)
			})
		}
	}
}
