package lru_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/internal/lru"
)

func TestTheLeastRecentlyUsedIsForgotten(t *testing.T) {
	const limit, keys = 4, 7
	random, table := rand.New(rand.NewPCG(1, 2)), lru.New[int, int](limit)
	var used []int // the keys, the least recently used first
	values := map[int]int{}
	for value := range 10_000 {
		key := random.IntN(keys)
		isKnown := slices.Contains(used, key)
		used = slices.DeleteFunc(used, func(other int) bool { return other == key })
		switch random.IntN(4) {
		case 0:
			table.Remove(key)
		case 1:
			found, known := table.Get(key)
			require.Equal(t, isKnown, known)
			if known {
				require.Equal(t, values[key], found)
				used = append(used, key)
			}
		default:
			table.Set(key, value)
			values[key], used = value, append(used, key)
		}
		used = used[max(0, len(used)-limit):]
		require.Equal(t, len(used) == 0, table.IsEmpty())
	}

	table.Clear()
	require.True(t, table.IsEmpty())
	table.Set(1, 1)
	require.True(t, table.Has(1))
	require.False(t, table.Has(2))
}

// Run it with the race detector.
func TestConcurrentUse(t *testing.T) {
	table := lru.New[int, int](2)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 1000 {
				table.Set(n%5, i)
				if _, known := table.Get((n + i) % 5); known {
					table.Remove(n % 5)
				}
				if n%100 == 0 {
					table.Clear()
				}
			}
		})
	}
	group.Wait()
	table.Clear()
	require.True(t, table.IsEmpty())
}
