package managedfields

import (
	"bytes"
	"slices"
	"strings"

	"github.com/trueup-go/trueup/internal/canon"
)

// longText is a length, in bytes, that the fields of most objects do not exceed.
const longText = 4 << 10

// An index finds members in a text of which reading a half for each question would take too long: the text of a list with
// thousands of items. It is made while it is used.
type index struct {
	atLeast int // bytes of an object, to which a shorter one is read from its beginning
	objects map[*byte]*names
}

// names are the places of an object's members, by the steps that lead there.
type names struct {
	members map[string]canon.Members // each before one member
	areKeys bool                     // the steps are keys of items, sorted
	isMixed bool                     // not all steps are, or one may lead to two members
}

// find returns the members of object among which those are to which step leads.
func (x *index) find(object canon.Raw, step string) canon.Members {
	if len(object) < max(x.atLeast, 1) {
		return object.Members()
	}
	in := x.objects[&object[0]]
	if in == nil {
		if x.objects == nil {
			x.objects = map[*byte]*names{}
		}
		in = namesIn(object)
		x.objects[&object[0]] = in
	}
	switch {
	case in.isMixed:
		return object.Members()
	case in.areKeys:
		step = sortedKeys(step)
	}
	return in.members[step]
}

func namesIn(object canon.Raw) *names {
	in := &names{members: map[string]canon.Members{}}
	for m := object.Members(); m.Next(); {
		if string(m.Name) == "." {
			continue
		}
		step, areKeys := stepTo(m.Name), bytes.HasPrefix(m.Name, []byte("k:"))
		if areKeys {
			step = sortedKeys(step)
		}
		_, isTwin := in.members[step]
		in.isMixed = in.isMixed || isTwin || len(in.members) > 0 && areKeys != in.areKeys
		in.members[step], in.areKeys = m.Current(), areKeys
	}
	return in
}

// sortedKeys returns the step of an item with its keys in order, without empty ones.
func sortedKeys(step string) string {
	if strings.IndexByte(step, ',') < 0 && !strings.HasSuffix(step, "=") {
		return step
	}
	keys := slices.DeleteFunc(strings.Split(step, ","), func(key string) bool {
		_, value, _ := strings.Cut(key, "=")
		return value == ""
	})
	slices.Sort(keys)
	return strings.Join(keys, ",")
}
