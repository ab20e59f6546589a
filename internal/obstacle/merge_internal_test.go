package obstacle

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// The order of merged lists is compared with that of the merge itself.
func TestMergedOrder(t *testing.T) {
	converter := applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		live, desired := somePorts(random), somePorts(random)
		l, err := converter.ObjectToTyped(serviceOf(live))
		require.NoError(t, err)
		d, err := converter.ObjectToTyped(serviceOf(desired))
		require.NoError(t, err)
		m, err := l.Merge(d)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(portsOf(t, m), orderOf(live, desired)), "live %v, desired %v", live, desired)
	}
}

// A create takes two items of one key, so live may hold them; a merge takes them for one.
func TestMergedOrderOfDuplicates(t *testing.T) {
	for name, tc := range map[string]struct{ live, desired, want []string }{
		"one is desired":          {[]string{"a", "a"}, []string{"a"}, []string{"a"}},
		"with another in between": {[]string{"a", "b", "a"}, []string{"a"}, []string{"a", "b"}},
		"with more desired":       {[]string{"a", "a"}, []string{"a", "b"}, []string{"a", "b"}},
	} {
		require.Empty(t, cmp.Diff(tc.want, orderOf(tc.live, tc.desired)), name)
	}
}

func orderOf(live, desired []string) []string {
	var names []string
	for _, element := range mergedOrder(named(live), named(desired)) {
		names = append(names, *element.FieldName)
	}
	return names
}

func named(names []string) []fieldpath.PathElement {
	var elements []fieldpath.PathElement
	for _, name := range names {
		elements = append(elements, fieldpath.FieldNameElement(name))
	}
	return elements
}

func somePorts(random *rand.Rand) []string {
	var out []string
	for _, i := range random.Perm(7)[:random.IntN(7)] {
		out = append(out, strconv.Itoa(i+1))
	}
	return out
}

func serviceOf(ports []string) *corev1.Service {
	s := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}
	for _, port := range ports {
		n, _ := strconv.Atoi(port)
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: int32(n), Protocol: corev1.ProtocolTCP})
	}
	return s
}

func portsOf(t *testing.T, merged *typed.TypedValue) []string {
	t.Helper()
	spec, _ := merged.AsValue().Unstructured().(map[string]any)["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	var out []string
	for _, port := range ports {
		out = append(out, fmt.Sprint(port.(map[string]any)["port"]))
	}
	return out
}
