package scale

import (
	"fmt"
	"syscall"
)

// coldBytes is more than a processor caches.
const coldBytes = 96 << 20

// A coldCache empties the processor's caches. A real operator returns to a child after minutes,
// when the caches have lost it. Consecutive passes would find a thousand children in the cache, and
// ten thousand not.
type coldCache struct{ memory []byte }

// newColdCache takes memory that is none of the heap, which is measured.
func newColdCache() (coldCache, error) {
	memory, err := syscall.Mmap(-1, 0, coldBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return coldCache{}, fmt.Errorf("cannot map memory: %w", err)
	}
	return coldCache{memory}, nil
}

// empty writes to every line of the cache.
func (c coldCache) empty() {
	const line = 64
	for i := 0; i < len(c.memory); i += line {
		c.memory[i]++
	}
}

func (c coldCache) release() error { return syscall.Munmap(c.memory) }
