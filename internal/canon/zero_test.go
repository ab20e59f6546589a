package canon_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trueup-go/trueup/internal/canon"
)

// marshalers is a struct of a custom kind, with types that have a JSON form of their own.
type marshalers struct {
	Duration          metav1.Duration     `json:"duration"`
	DurationOmitempty metav1.Duration     `json:"durationOmitempty,omitempty"`
	DurationOmitzero  metav1.Duration     `json:"durationOmitzero,omitzero"`
	DurationPointer   *metav1.Duration    `json:"durationPointer,omitempty"`
	Port              intstr.IntOrString  `json:"port"`
	PortOmitempty     intstr.IntOrString  `json:"portOmitempty,omitempty"`
	PortOmitzero      intstr.IntOrString  `json:"portOmitzero,omitzero"`
	PortPointer       *intstr.IntOrString `json:"portPointer,omitempty"`
	Size              resource.Quantity   `json:"size"`
	SizeOmitempty     resource.Quantity   `json:"sizeOmitempty,omitempty"`
	SizeOmitzero      resource.Quantity   `json:"sizeOmitzero,omitzero"`
	SizePointer       *resource.Quantity  `json:"sizePointer,omitempty"`
	Since             metav1.Time         `json:"since"`
	SinceOmitempty    metav1.Time         `json:"sinceOmitempty,omitempty"`
	SincePointer      *metav1.Time        `json:"sincePointer,omitempty"`
}

// collections is a struct of a custom kind, with values that may be nil or empty.
type collections struct {
	List           []string          `json:"list"`
	ListOmitempty  []string          `json:"listOmitempty,omitempty"`
	ListOmitzero   []string          `json:"listOmitzero,omitzero"`
	Map            map[string]string `json:"map"`
	MapOmitempty   map[string]string `json:"mapOmitempty,omitempty"`
	MapOmitzero    map[string]string `json:"mapOmitzero,omitzero"`
	Bytes          []byte            `json:"bytes"`
	BytesOmitempty []byte            `json:"bytesOmitempty,omitempty"`
}

// TestZeroAndEmpty shows what docs/ensure.md says about zero and empty values of Go types.
func TestZeroAndEmpty(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		value  any
		want   string
	}{
		"zero marshalers": {
			"omitempty has no effect on a struct, and a null is left out",
			marshalers{},
			`{"duration":"0s","durationOmitempty":"0s","port":0,"portOmitempty":0,"size":"0","sizeOmitempty":"0"}`,
		},
		"pointers to zero marshalers": {
			"the author has decided them",
			marshalers{DurationPointer: &metav1.Duration{}, PortPointer: &intstr.IntOrString{}, SizePointer: &resource.Quantity{}},
			`{"duration":"0s","durationOmitempty":"0s","durationPointer":"0s","port":0,"portOmitempty":0,"portPointer":0,` +
				`"size":"0","sizeOmitempty":"0","sizePointer":"0"}`,
		},
		"nil": {"no value, where encoding/json writes null", collections{}, `{}`},
		"empty": {
			"an empty list is a value under any tag, and an empty map without omitempty",
			collections{
				List: []string{}, ListOmitempty: []string{}, ListOmitzero: []string{},
				Map: map[string]string{}, MapOmitempty: map[string]string{}, MapOmitzero: map[string]string{},
				Bytes: []byte{}, BytesOmitempty: []byte{},
			},
			`{"bytes":"","list":[],"listOmitempty":[],"listOmitzero":[],"map":{},"mapOmitzero":{}}`,
		},
		"empty in a built-in kind": {
			"an empty list is a value, and an empty map is not",
			corev1.PodSpec{Tolerations: []corev1.Toleration{}, NodeSelector: map[string]string{}, Containers: []corev1.Container{}},
			`{"containers":[],"tolerations":[]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Append(nil, tc.value)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(got), tc.reason)
		})
	}
}
