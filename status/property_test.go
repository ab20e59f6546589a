package status_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/status"
)

// gauge has a status of all forms, whose zero value is written as something else than JSON's.
type gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   ShopSpec    `json:"spec"`
	Status gaugeStatus `json:"status"`
}

type gaugeStatus struct {
	gaugeInner `json:",inline"`

	Note       string               `json:"note,omitempty"`
	Part       gaugePart            `json:"part"`
	Spare      gaugePart            `json:"spare,omitzero"`
	Lent       *gaugePart           `json:"lent,omitempty"`
	Kept       *gaugePart           `json:"kept"`
	Rooms      map[string]gaugePart `json:"rooms,omitempty"`
	Conditions []gaugeCondition     `json:"conditions,omitempty"`
}

type gaugePart struct {
	Pair  [2]int     `json:"pair"`
	Inner gaugeInner `json:"inner"`
	Deep  gaugeInner `json:"deep,omitzero"`
}

type gaugeInner struct {
	Version gaugeVersion `json:"version"`
	Angle   int          `json:"angle,omitempty"`
}

type gaugeCondition struct {
	Type string    `json:"type"`
	Part gaugePart `json:"part"`
}

type gaugeVersion struct{ major, minor int }

func (v gaugeVersion) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `"%d.%d"`, v.major, v.minor), nil
}

func (v *gaugeVersion) UnmarshalJSON(data []byte) error {
	_, err := fmt.Sscanf(string(data), `"%d.%d"`, &v.major, &v.minor)
	return err
}

func (g *gauge) DeepCopyObject() runtime.Object {
	out := *g
	if g.Status.Lent != nil {
		out.Status.Lent = new(*g.Status.Lent)
	}
	if g.Status.Kept != nil {
		out.Status.Kept = new(*g.Status.Kept)
	}
	out.Status.Rooms, out.Status.Conditions = maps.Clone(g.Status.Rooms), slices.Clone(g.Status.Conditions)
	return &out
}

// A writer writes the status of a gauge, with members that no Go type knows if unknown is set.
type writer struct {
	*rand.Rand

	unknown bool
}

// object writes some of the members.
func (w writer) object(members map[string]func() any) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if w.IntN(3) > 0 {
			out[name] = members[name]()
		}
	}
	if w.unknown && w.IntN(2) == 0 {
		out["unknown"] = map[string]any{"a": "b"}
	}
	return out
}

func (w writer) innerMembers() map[string]func() any {
	return map[string]func() any{
		"version": func() any { return fmt.Sprintf("%d.%d", w.IntN(2), w.IntN(2)) },
		"angle":   func() any { return w.IntN(3) },
	}
}

func (w writer) inner() any { return w.object(w.innerMembers()) }

func (w writer) part() any {
	if w.unknown && w.IntN(8) == 0 {
		return nil
	}
	return w.object(map[string]func() any{
		"pair": func() any { return []int{w.IntN(2), w.IntN(2)} }, "inner": w.inner, "deep": w.inner,
	})
}

func (w writer) rooms() any {
	return w.object(map[string]func() any{"hall": w.part, "attic": w.part})
}

func (w writer) conditions() any {
	var list []any
	for _, name := range []string{"A", "B", "C"} {
		if w.IntN(3) > 0 {
			condition := w.object(map[string]func() any{"part": w.part})
			condition["type"] = name
			list = append(list, condition)
		}
	}
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (w writer) status() map[string]any {
	members := w.innerMembers()
	maps.Copy(members, map[string]func() any{
		"note": func() any { return fmt.Sprint(w.IntN(3)) }, "part": w.part, "spare": w.part, "lent": w.part, "kept": w.part,
		"rooms": func() any { rooms := w.rooms().(map[string]any); delete(rooms, "unknown"); return rooms }, "conditions": w.conditions,
	})
	return w.object(members)
}

// TestPatchOfAnyStatus: whatever the server has, and whatever is changed, the status is as
// mutate made it, what the Go type does not know is kept, and there is nothing more to write.
func TestPatchOfAnyStatus(t *testing.T) {
	seeds := uint64(5000)
	if testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 0))
		stored := ""
		if seed%10 > 0 {
			stored = text(t, writer{random, true}.status())
		}
		s := newServer(stored)
		found, wanted := &gauge{}, &gauge{}
		require.NoError(t, s.answer(found))
		require.NoError(t, json.Unmarshal([]byte(text(t, map[string]any{"status": writer{random, false}.status()})), wanted))
		choice := random.Uint32()
		mutate := func(g *gauge) { g.Status.take(wanted.DeepCopyObject().(*gauge).Status, choice) }
		want := found.DeepCopyObject().(*gauge)
		mutate(want)

		require.NoError(t, status.Patch(t.Context(), s, found, mutate), "seed %d: %s", seed, stored)
		require.Equal(t, shown(t, want), shown(t, found), "seed %d: %s", seed, stored)
		require.LessOrEqual(t, len(s.patches), 3)
		if stored != "" && s.content != "" {
			requireKept(t, asJSON(t, stored), asJSON(t, s.content), shown(t, want), fmt.Sprintf("seed %d: %s", seed, stored))
		}

		sent := len(s.patches)
		require.NoError(t, status.Patch(t.Context(), s, found, mutate))
		require.Len(t, s.patches, sent, "nothing more to write")
	}
}

// take takes the fields that choice has a bit for.
func (s *gaugeStatus) take(from gaugeStatus, choice uint32) {
	for i, take := range []func(){
		func() { s.gaugeInner = from.gaugeInner },
		func() { s.Note = from.Note },
		func() { s.Part = from.Part },
		func() { s.Part.Inner = from.Part.Inner },
		func() { s.Spare = from.Spare },
		func() { s.Spare = gaugePart{} },
		func() { s.Part.Deep = gaugeInner{} },
		func() { s.Lent = from.Lent },
		func() { s.Kept = from.Kept },
		func() { s.Rooms = from.Rooms },
		func() { s.Conditions = from.Conditions },
	} {
		if choice&(1<<i) != 0 {
			take()
		}
	}
}

// shown is the status as the Go type shows it, with conditions by type.
func shown(t *testing.T, g *gauge) any {
	t.Helper()
	return byTypes(asJSON(t, text(t, g.Status)))
}

func byTypes(object any) any {
	members, _ := object.(map[string]any)
	list, _ := members["conditions"].([]any)
	byType := map[string]any{}
	for _, condition := range list {
		byType[condition.(map[string]any)["type"].(string)] = condition
	}
	members["conditions"] = byType
	return object
}

// requireKept has all members named unknown stay, but in a pointer, an entry of a map and a
// condition that is not wanted any more.
func requireKept(t *testing.T, before, after, want any, message string) {
	t.Helper()
	before, after = byTypes(before), byTypes(after)
	var compare func(path string, before, after, want any, explicit bool)
	compare = func(path string, before, after, want any, explicit bool) {
		members, _ := before.(map[string]any)
		kept, _ := after.(map[string]any)
		wanted, isWanted := want.(map[string]any)
		if explicit && !isWanted {
			return
		}
		for key, value := range members {
			if key == "unknown" {
				require.Equal(t, value, kept[key], "%s %s", path, message)
				continue
			}
			isExplicit := key == "lent" || key == "kept" || path == ".rooms" || path == ".conditions"
			compare(path+"."+key, value, kept[key], wanted[key], isExplicit)
		}
	}
	compare("", before, after, want, false)
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
