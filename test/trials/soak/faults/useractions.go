package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
)

// tables are the tables that rows move between.
var tables = []string{"students", "teachers"}

// The userActions are what people do: they create, change, move and delete PostgresWriters, one after
// another, in the same namespace of one or several clusters. They repeat each request that a server
// does not acknowledge.
type userActions struct {
	namespace string
	clients   []client.Client
	actions   []action

	mu     sync.Mutex
	done   int
	wanted map[string]v1.PostgresWriterSpec // what they have made so far, by name
}

// An action is the creation, change or deletion of one PostgresWriter.
type action struct {
	verb verb
	name string
	spec v1.PostgresWriterSpec
}

type verb int

const (
	create verb = iota
	change
	remove
)

func newUserActions(random *rand.Rand, creations, deletions int, namespace string, clients ...client.Client) *userActions {
	return &userActions{
		namespace: namespace, clients: clients,
		actions: plannedActions(random, creations, deletions), wanted: map[string]v1.PostgresWriterSpec{},
	}
}

// plannedActions are the actions on all PostgresWriters, interleaved.
func plannedActions(random *rand.Rand, creations, deletions int) []action {
	type moment struct {
		at float64
		action
	}
	var all []moment
	for i := range creations {
		lifecycle := lifecycle(random, fmt.Sprintf("row-%d", i), i < deletions)
		times := make([]float64, len(lifecycle))
		for j := range times {
			times[j] = random.Float64()
		}
		slices.Sort(times)
		for j, action := range lifecycle {
			all = append(all, moment{times[j], action})
		}
	}
	slices.SortFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	mixed := make([]action, len(all))
	for i, m := range all {
		mixed[i] = m.action
	}
	return mixed
}

// lifecycle is all that happens to one PostgresWriter, in order: every other one is changed,
// some of them twice, and half of the changes are moves.
func lifecycle(random *rand.Rand, name string, ends bool) []action {
	spec := v1.PostgresWriterSpec{
		Table: pick(random, tables), Name: newName(random), Age: random.Int32N(201), Country: pick(random, countries),
	}
	lifecycle := []action{{create, name, spec}}
	for range pick(random, []int{0, 0, 1, 2}) {
		if random.IntN(2) == 0 {
			spec.Table = tables[1-slices.Index(tables, spec.Table)]
		} else {
			spec.Name, spec.Age = newName(random), random.Int32N(201)
		}
		lifecycle = append(lifecycle, action{change, name, spec})
	}
	if ends {
		lifecycle = append(lifecycle, action{remove, name, spec})
	}
	return lifecycle
}

var (
	names     = []string{"alex", "Đorđe", "O'Hara", `back\slash`, `"quoted"`, "山田"}
	countries = []string{"canada", "Österreich", "Côte d'Ivoire", "日本"}
)

// newName is hardly ever the same twice.
func newName(random *rand.Rand) string {
	return fmt.Sprintf("%s %d", pick(random, names), random.IntN(1_000_000))
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// advance does everything up to this share of all work, spread over a time, and returns when the
// servers have acknowledged everything. A late action is done at once.
func (u *userActions) advance(ctx context.Context, share float64, over time.Duration) error {
	begun, first, last := time.Now(), u.done, int(share*float64(len(u.actions)))
	for i := first; i < last; i++ {
		due := begun.Add(over * time.Duration(i-first) / time.Duration(last-first))
		if err := pass(ctx, time.Until(due)); err != nil {
			return err
		}
		if err := u.do(ctx, u.actions[i]); err != nil {
			return err
		}
	}
	return nil
}

// do carries out an action in each cluster.
func (u *userActions) do(ctx context.Context, d action) error {
	for _, cl := range u.clients {
		err := until(ctx, "the API server took it", func() error { return u.try(ctx, cl, d) })
		if err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done++
	if d.verb == remove {
		delete(u.wanted, d.name)
	} else {
		u.wanted[d.name] = d.spec
	}
	return nil
}

// try may be one of several attempts, of which an earlier one may have succeeded
// unacknowledged.
func (u *userActions) try(ctx context.Context, cl client.Client, d action) error {
	writer := &v1.PostgresWriter{ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: d.name}, Spec: d.spec}
	switch d.verb {
	case create:
		if err := cl.Create(ctx, writer); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	case remove:
		return client.IgnoreNotFound(cl.Delete(ctx, writer))
	default:
		patch, err := json.Marshal(map[string]any{"spec": d.spec})
		if err != nil {
			return err
		}
		return cl.Patch(ctx, writer, client.RawPatch("application/merge-patch+json", patch))
	}
}

// made returns the specs of the objects created so far, by name.
func (u *userActions) made() map[string]v1.PostgresWriterSpec {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.wanted)
}
