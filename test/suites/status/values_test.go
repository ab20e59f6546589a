package status_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/status"
)

// turns set one value in each place where an Odometer has one.
var turns = map[string]func(*OdometerStatus){
	"a string":             func(s *OdometerStatus) { s.Note = "ours" },
	"a version":            func(s *OdometerStatus) { s.Version = odometerVersion{1, 2} },
	"a time":               func(s *OdometerStatus) { s.Read = longAgo().Time },
	"an array":             func(s *OdometerStatus) { s.Pair = [2]int{1, 2} },
	"a UUID":               func(s *OdometerStatus) { s.ID = odometerID{1, 2} },
	"a quantity":           func(s *OdometerStatus) { s.Total = resource.MustParse("1Gi") },
	"an int or string":     func(s *OdometerStatus) { s.Port = intstr.FromString("http") },
	"a metav1.Time":        func(s *OdometerStatus) { s.Since = longAgo() },
	"a duration":           func(s *OdometerStatus) { s.Every = metav1.Duration{Duration: time.Minute} },
	"a number":             func(s *OdometerStatus) { s.Exact = "12" },
	"a struct":             func(s *OdometerStatus) { s.Needle.Angle = 3 },
	"an omitted struct":    func(s *OdometerStatus) { s.Optional.Angle = 3 },
	"in a struct":          func(s *OdometerStatus) { s.Dial.Version = odometerVersion{1, 2} },
	"a struct in a struct": func(s *OdometerStatus) { s.Dial.Needle.Angle = 3 },
	"in an omitted struct": func(s *OdometerStatus) { s.Spare.Needle.Angle = 3 },
	"an object of its own": func(s *OdometerStatus) { s.Range = odometerRange{1, 2} },
	"in a pointer":         func(s *OdometerStatus) { s.Lent = &OdometerDial{Pair: [2]int{1, 2}} },
	"in a null pointer":    func(s *OdometerStatus) { s.Kept = &OdometerDial{Pair: [2]int{1, 2}} },
	"in a map":             func(s *OdometerStatus) { s.Rooms = map[string]OdometerDial{"hall": {Needle: odometerNeedle{Angle: 3}}} },
	"in a list":            func(s *OdometerStatus) { s.Past = []OdometerDial{{Needle: odometerNeedle{Angle: 3}}} },
	"a struct of conditions": func(s *OdometerStatus) {
		s.Conditions = append([]odometerCondition{{Type: "Read", Needle: odometerNeedle{Angle: 3}}}, s.Conditions[min(1, len(s.Conditions)):]...)
	},
}

// TestZeroValues writes each value into a status of which the Go type shows more than the
// server has.
func TestZeroValues(t *testing.T) {
	c := newClient(t, t.Name())
	object := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	unknown := object("unknown", object("deep", int64(1)))
	for name, test := range map[string]struct {
		stored   map[string]any
		requests int // at most
	}{
		"no status yet":      {nil, 1},
		"an empty one":       {object(), 3},
		"of others":          {object("unknown", unknown), 3},
		"of others in parts": {object("note", "theirs", "dial", unknown, "spare", unknown, "needle", unknown, "range", unknown, "optional", unknown), 3},
		"parts": {object("note", "theirs", "dial", object("version", "1.0.0"), "lent", unknown, "kept", unknown, "rooms", object("hall", unknown),
			"conditions", []any{object("type", "Read", "needle", unknown), object("type", "Theirs", "unknown", "x")}), 3},
	} {
		t.Run(name, func(t *testing.T) {
			for name, turn := range turns {
				t.Run(name, func(t *testing.T) {
					odometer := newOdometer(t, c, test.stored)
					want := odometer.DeepCopyObject().(*Odometer)
					turn(&want.Status)
					mark := shared.Mark()
					require.NoError(t, status.Patch(t.Context(), c, odometer, func(odometer *Odometer) { turn(&odometer.Status) }))
					require.LessOrEqual(t, sum(requests(t, mark, "TestZeroValues")), test.requests)
					require.Empty(t, cmp.Diff(shownOf(t, want), shownOf(t, odometer)))
					requireKept(t, "status", test.stored, storedStatus(t, c, odometer))

					mark = shared.Mark()
					require.NoError(t, status.Patch(t.Context(), c, odometer, func(odometer *Odometer) { turn(&odometer.Status) }))
					require.Empty(t, requests(t, mark, "TestZeroValues"), "nothing to write any more")
				})
			}
		})
	}
}

// newOdometer is an Odometer whose status was written by somebody else.
func newOdometer(t *testing.T, c client.Client, stored map[string]any) *Odometer {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(panelGVK.GroupVersion().WithKind("Odometer"))
	u.SetNamespace(shared.Namespace(t))
	u.SetName("odometer")
	require.NoError(t, c.Create(t.Context(), u))
	if stored != nil {
		u.Object["status"] = runtime.DeepCopyJSON(stored)
		require.NoError(t, c.Status().Update(t.Context(), u))
	}
	odometer := &Odometer{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(u), odometer))
	return odometer
}

// storedStatus is all that the server has.
func storedStatus(t *testing.T, c client.Client, odometer *Odometer) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(panelGVK.GroupVersion().WithKind("Odometer"))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(odometer), u))
	stored, _, err := unstructured.NestedMap(u.Object, "status")
	require.NoError(t, err)
	return stored
}

// shownOf returns the status as the Go type decodes it.
func shownOf(t *testing.T, odometer *Odometer) map[string]any {
	t.Helper()
	data, err := json.Marshal(odometer.Status)
	require.NoError(t, err)
	shown := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &shown))
	return shown
}

// requireKept has all members named unknown stay, wherever they are.
func requireKept(t *testing.T, path string, before, after any) {
	t.Helper()
	switch before := before.(type) {
	case map[string]any:
		kept, _ := after.(map[string]any)
		for key, value := range before {
			if key == "unknown" {
				require.Equal(t, value, kept[key], path)
				continue
			}
			requireKept(t, path+"."+key, value, kept[key])
		}
	case []any:
		kept, _ := after.([]any)
		for i, item := range before {
			require.Greater(t, len(kept), i, path)
			requireKept(t, path, item, kept[i])
		}
	}
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
