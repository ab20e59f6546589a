package consistency_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/consistency"
)

func TestOffReachesEveryRequest(t *testing.T) {
	for _, options := range []any{
		(&client.GetOptions{}).ApplyOptions([]client.GetOption{consistency.Off}),
		(&client.ListOptions{}).ApplyOptions([]client.ListOption{consistency.Off}),
		(&client.CreateOptions{}).ApplyOptions([]client.CreateOption{consistency.Off}),
		(&client.PatchOptions{}).ApplyOptions([]client.PatchOption{consistency.Off}),
		(&client.DeleteOptions{}).ApplyOptions([]client.DeleteOption{consistency.Off}),
		&(&client.SubResourcePatchOptions{}).ApplyOptions([]client.SubResourcePatchOption{consistency.Off}).PatchOptions,
	} {
		require.Equal(t, consistency.IsSupported(), consistency.IsOff(options), "%T", options)
	}
	require.False(t, consistency.IsOff(&client.GetOptions{}))
}

// TestIsSupported: a version that has the consistency has the field that opts out, under the name that is looked up.
func TestIsSupported(t *testing.T) {
	_, has := reflect.TypeFor[client.CacheOptions]().FieldByName("EnableReadYourWritesConsistency")
	require.Equal(t, has, consistency.IsSupported())
}
