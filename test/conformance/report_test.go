package conformance_test

import "sync"

// shown counts the checks that passed, by kind and property.
var shown = struct {
	sync.Mutex
	counts map[[2]string]int
}{counts: map[[2]string]int{}}

// shows counts one check of a property that held for b's kind.
func (b *bench) shows(property string) {
	shown.Lock()
	defer shown.Unlock()
	shown.counts[[2]string{b.name, property}]++
}
