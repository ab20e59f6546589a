package ensure

import (
	"maps"
	"slices"
	"strconv"
)

// A digestInput is a sequence of texts and booleans, separated by quotes.
type digestInput []byte

func (n *digestInput) add(texts ...string) {
	for _, text := range texts {
		*n = strconv.AppendQuote(*n, text)
	}
}

func (n *digestInput) addBool(value bool) { *n = strconv.AppendBool(*n, value) }

func (n *digestInput) addKeys(desired, live map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		value, there := live[key]
		n.add(key, value)
		n.addBool(there)
	}
	n.add("")
}
