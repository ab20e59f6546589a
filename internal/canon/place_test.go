package canon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"

	"github.com/trueup-go/trueup/internal/canon"
)

// widths has values of every size beside each other, so that a value read at the
// wrong place or in the wrong width is another value.
type widths struct {
	A       int8     `json:"a"`
	B       int16    `json:"b"`
	C       int8     `json:"c,omitempty"`
	D       int32    `json:"d"`
	E       bool     `json:"e"`
	F       int64    `json:"f,omitempty"`
	G       uint8    `json:"g"`
	H       uint16   `json:"h,omitempty"`
	I       uint32   `json:"i,omitempty"`
	J       uint64   `json:"j,omitempty"`
	K       uint     `json:"k"`
	L       bool     `json:"l,omitempty"`
	M       float32  `json:"m,omitempty"`
	N       float64  `json:"n,omitempty"`
	O       int16    `json:"o,omitempty"`
	Nothing struct{} `json:"nothing"`
	*branch
	P     [3]int8            `json:"p"`
	Q     [2][2]uint16       `json:"q"`
	R     [][3]bool          `json:"r,omitzero"`
	S     []struct{}         `json:"s,omitzero"`
	T     *[2]string         `json:"t"`
	U     fmt.Stringer       `json:"u"`
	V     map[word]word      `json:"v"`
	W     map[string][]int16 `json:"w"`
	X     [2]*int32          `json:"x"`
	Last  struct{}           `json:"last"`
	empty struct{}           //nolint:unused // nothing at the very end
}

// branch is embedded by pointer and embeds on, at an offset.
type branch struct {
	Before int32 `json:"before"`
	Leaf
}

type Leaf struct {
	Ignored int8 `json:"-"`
	*Tip
	After word `json:"after,omitempty"`
}

type Tip struct {
	Pad   bool  `json:"pad"`
	Depth int64 `json:"depth"`
}

type word string

func TestEveryWidthIsRead(t *testing.T) {
	t.Parallel()
	for seed := range int64(500) {
		value := randomWidths(seed)
		want, err := json.Marshal(value)
		require.NoError(t, err)
		got, err := canon.Append(nil, value)
		require.NoError(t, err)
		if diff := cmp.Diff(withoutNulls(t, want), withoutNulls(t, got)); diff != "" {
			t.Fatalf("seed %d: -json +canon\n%s", seed, diff)
		}
		byValue, err := canon.Append(nil, *value)
		require.NoError(t, err)
		require.Equal(t, string(got), string(byValue))
	}
}

// randomWidths leaves out maps whose values are nil lists: as values of a map
// they are empty ones.
func randomWidths(seed int64) *widths {
	value := &widths{}
	fill := filler(randfill.NewWithSeed(seed)).Funcs(
		func(w *[]int16, c randfill.Continue) { *w = []int16{int16(c.Uint64()), -1} },
		func(s *fmt.Stringer, c randfill.Continue) { *s = randomTime(c) },
		func(f *float32, c randfill.Continue) { *f = []float32{0, 0.5, -2}[c.Intn(3)] },
		func(f *float64, c randfill.Continue) { *f = []float64{0, 0.25, -3}[c.Intn(3)] },
	)
	fill.Fill(value)
	if seed%3 > 0 {
		value.branch = &branch{}
		fill.Fill(value.branch)
	}
	return value
}

func TestSignedZeroIsNotEmpty(t *testing.T) {
	t.Parallel()
	got, err := canon.Append(nil, widths{M: float32(math.Copysign(0, -1)), N: math.Copysign(0, -1)})
	require.NoError(t, err)
	require.Contains(t, string(got), `"m":0,"n":0`)
}

// Maps of quantities by any string are read alike.
func TestQuantitiesByNamedStrings(t *testing.T) {
	t.Parallel()
	named := map[word]resource.Quantity{"cpu": resource.MustParse("1000m"), "a\xff": resource.MustParse("0"), "b": resource.MustParse("1Gi")}
	got, err := canon.Append(nil, named)
	require.NoError(t, err)
	require.Equal(t, `{"a\ufffd":"0","b":"1Gi","cpu":"1"}`, string(got))
	got, err = canon.Append(nil, map[word]resource.Quantity(nil))
	require.NoError(t, err)
	require.Equal(t, "null", string(got))
	require.Len(t, named, 3)
}
