package canon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/trueup-go/trueup/internal/canon"
)

// custom has a field for every rule of encoding/json.
type custom struct {
	Embedded
	*Pointed   `json:",omitempty"`
	unexported          // its exported fields are members
	Named      Embedded `json:"named"`
	hidden     string   //nolint:unused // no member
	Skipped    string   `json:"-"`
	Dash       string   `json:"-,"` //nolint:staticcheck // as it may be found
	Untagged   string
	Bad        string                      `json:"b\"ad"` //nolint:staticcheck // as it may be found
	Empty      string                      `json:"empty,omitempty"`
	Zero       inner                       `json:"zero,omitzero"`
	ZeroTime   time.Time                   `json:"zeroTime,omitzero"`
	ZeroPtr    *selfZero                   `json:"zeroPtr,omitzero"`
	ZeroSelf   selfZero                    `json:"zeroSelf,omitzero"`
	Struct     inner                       `json:"struct"`
	OmitStruct inner                       `json:"omitStruct,omitempty"`
	Quoted     int                         `json:"quoted,string"`
	QuotedPtr  *int64                      `json:"quotedPtr,string"`
	QuotedText string                      `json:"quotedText,string"`
	QuotedBool bool                        `json:"quotedBool,omitempty,string"`
	QuotedTime time.Duration               `json:"quotedTime,string"`
	Number     json.Number                 `json:"number"`
	Float32    float32                     `json:"float32"`
	Float64    float64                     `json:"float64"`
	Uint       uint64                      `json:"uint"`
	Array      [2]inner                    `json:"array"`
	NoArray    [0]string                   `json:"noArray,omitempty"`
	Bytes      []byte                      `json:"bytes"`
	NoBytes    []byte                      `json:"noBytes,omitempty"`
	Octets     []octet                     `json:"octets"`
	Address    netip.Addr                  `json:"address"`
	Text       upper                       `json:"text"`
	ByValue    map[string]byPointer        `json:"byValue"`
	ByPointer  map[string]*byPointer       `json:"byPointer"`
	InList     []byPointer                 `json:"inList"`
	Keys       map[int8]string             `json:"keys"`
	UintKeys   map[uint16]bool             `json:"uintKeys"`
	TextKeys   map[netip.Addr]int          `json:"textKeys"`
	Nested     map[string]inner            `json:"nested"`
	Lists      [][]string                  `json:"lists"`
	Any        any                         `json:"any"`
	AnyOmit    any                         `json:"anyOmit,omitempty"`
	Stringer   fmt.Stringer                `json:"stringer"`
	Self       *custom                     `json:"self,omitempty"`
	Quantity   resource.Quantity           `json:"quantity"`
	Duration   metav1.Duration             `json:"duration"`
	Time       metav1.Time                 `json:"time"`
	Resources  corev1.ResourceRequirements `json:"resources"`
	Raw        runtime.RawExtension        `json:"raw"`
	Map        map[string]string           `json:"map"`
	OmitMap    map[string]string           `json:"omitMap,omitempty"`
	Tags       tags                        `json:"tags"`
	OmitTags   tags                        `json:"omitTags,omitempty"`
	IP         net.IP                      `json:"ip,omitempty"`
	Conflict   string                      `json:"conflict"`
}

type Embedded struct {
	Deep     string `json:"deep"`
	Conflict int    `json:"conflict"`
	Twice    string
}

type Pointed struct {
	Pointer string `json:"pointer,omitempty"`
	Twice   string
	Deeper
}

type Deeper struct{ Deepest string }

type unexported struct{ Promoted int }

type inner struct {
	A string `json:"a,omitempty"`
	B *int   `json:"b"`
}

// tags are a list with a form of its own, which a nil one has too.
type tags []string

func (t tags) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Join(t, ",")) }

type octet uint8

func (o octet) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "o%d", uint8(o)), nil }

type upper string

func (u upper) MarshalJSON() ([]byte, error) { return json.Marshal(strings.ToUpper(string(u))) }

// byPointer is marshaled by its own method only where it can be addressed.
type byPointer struct{ V int }

func (p *byPointer) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, ` { "z": %d.0, "a": null } `, p.V%1000), nil
}

type selfZero struct{ N int }

func (s *selfZero) IsZero() bool { return s == nil || s.N%2 == 0 }

// Custom types are read as encoding/json writes them, less fields that are null. Null
// stays in what may hold anything.
func TestCustomTypesAreReadAsJSON(t *testing.T) {
	t.Parallel()
	for seed := range int64(300) {
		value := &custom{}
		filler(randfill.NewWithSeed(seed)).Funcs(
			func(a *netip.Addr, c randfill.Continue) { *a = netip.AddrFrom4([4]byte{10, byte(c.Uint64()), 0, 1}) },
			func(ip *net.IP, c randfill.Continue) { *ip = net.IPv4(10, 0, 0, byte(c.Uint64())) },
			func(t *time.Time, c randfill.Continue) { *t = randomTime(c) },
			func(n *json.Number, c randfill.Continue) { *n = json.Number(fmt.Sprint(c.Intn(99), ".50")) },
			func(v *any, c randfill.Continue) {
				*v = map[string]any{"b": []any{1.5, "x", nil}, "a": nil, "c": randomText(c)}
			},
			func(s *fmt.Stringer, c randfill.Continue) { *s = randomTime(c) },
			func(q *resource.Quantity, c randfill.Continue) {
				*q = resource.MustParse([]string{"0", "250m", "1Gi"}[c.Intn(3)])
			},
			func(f *float32, c randfill.Continue) { *f = []float32{0, 0.1, 16777216, 1e-9}[c.Intn(4)] },
			func(f *float64, c randfill.Continue) {
				*f = []float64{0, 0.1, -2.5, 1e20, 1e21, 1e-7, 123456789}[c.Intn(7)]
			},
		).Fill(value)
		want, err := json.Marshal(value)
		require.NoError(t, err)
		got, err := canon.Append(nil, value)
		require.NoError(t, err)
		if diff := cmp.Diff(withoutNulls(t, want), withoutNulls(t, got)); diff != "" {
			t.Fatalf("seed %d: -json +canon\n%s", seed, diff)
		}
		var back any
		require.NoError(t, json.Unmarshal(got, &back))
		require.Subset(t, []string{"a"}, nullNames(back), "of byPointer and any")
	}
}

// withoutNulls parses text and drops what canon drops everywhere: null members,
// and inside API structs empty ones.
func withoutNulls(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	return pruned(v)
}

// nullNames are the names of members that are null.
func nullNames(v any) (names []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if inner == nil {
				names = append(names, name)
			}
			names = append(names, nullNames(inner)...)
		}
	case []any:
		for _, inner := range v {
			names = append(names, nullNames(inner)...)
		}
	}
	return names
}

func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if v[name] = pruned(inner); v[name] == nil {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}
	return v
}

func TestAppendErrors(t *testing.T) {
	t.Parallel()
	cycle := &custom{}
	cycle.Self = cycle
	ring := map[string]any{}
	ring["ring"] = []any{ring}
	cases := map[string]struct {
		value any
		want  string
	}{
		"a channel":                  {make(chan int), "chan int"},
		"a function in a struct":     {struct{ F func() }{}, "F: cannot encode a value of type func()"},
		"a channel deep down":        {map[string]any{"a": []any{1, make(chan bool)}}, "[a][1]: cannot encode a value of type chan bool"},
		"a complex number":           {complex(1, 2), "complex128"},
		"not a number":               {struct{ F float64 }{math.NaN()}, "F: cannot encode the number NaN"},
		"infinity":                   {[]float32{float32(math.Inf(-1))}, "[0]: cannot encode the number -Inf"},
		"keys that have no text":     {map[bool]int{true: 1}, "map[bool]int"},
		"keys that are one in JSON":  {map[string]int{"\xff": 1, "\xfe": 2}, "two keys are"},
		"a cycle of pointers":        {cycle, "cycle"},
		"a cycle of maps":            {ring, "cycle"},
		"a marshaler that fails":     {struct{ V failing }{}, "cannot marshal canon_test.failing: no"},
		"a marshaler that lies":      {struct{ V lying }{}, "cannot parse the JSON of canon_test.lying"},
		"a marshaler that is hidden": {hiding{}, "failing: cannot encode a value of type canon_test.failing"},
		"raw JSON that is none":      {runtime.RawExtension{Raw: []byte(`{"a":`)}, "RawExtension"},
		"two JSON values":            {runtime.RawExtension{Raw: []byte(`{} {}`)}, "more than one value"},
		"a number that is none":      {json.Number("twelve"), "cannot encode a json.Number that is not a number"},
		"a number out of range":      {json.Number("1e999"), "out of range"},
		"an IntOrString of no kind":  {corev1.ServicePort{TargetPort: intOrStringOfType(7)}, "targetPort: cannot encode an IntOrString of type 7"},
		"an object that is nil":      {(*corev1.Pod)(nil), "nil"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Append([]byte("kept"), c.value)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, "kept", string(got))
		})
	}
}

type failing struct{}

var errNo = errors.New("no")

func (failing) MarshalJSON() ([]byte, error) { return nil, errNo }

// hiding embeds two marshalers, so that it has the method of neither.
type hiding struct {
	lying   `json:"lying"`   //nolint:unused // read by reflection
	failing `json:"failing"` //nolint:unused // likewise
}

type lying struct{}

func (lying) MarshalJSON() ([]byte, error) { return []byte(`{"a"`), nil }

func TestAppendErrorsUnwrap(t *testing.T) {
	t.Parallel()
	_, err := canon.Append(nil, map[string]any{"a": failing{}})
	require.ErrorIs(t, err, errNo)
}

func intOrStringOfType(kind intstr.Type) intstr.IntOrString { return intstr.IntOrString{Type: kind} }
