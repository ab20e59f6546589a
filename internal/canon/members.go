package canon

import (
	"fmt"
	"slices"
	"strings"
)

// A member is an entry of an object before sorting: its name, and either its text or the place of its
// text in the buffer, including the comma.
type member struct {
	name       string
	text       string
	plain      bool // whether the name is
	start, end int
}

// sortMembers sorts by name. Keys that differ in Go and not in JSON have no
// order and no JSON form.
func sortMembers(members []member) error {
	if len(members) > fewMembers {
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	} else {
		sortFew(members)
	}
	for i := 1; i < len(members); i++ {
		if members[i].name == members[i-1].name {
			return fmt.Errorf("two keys are %q in JSON", members[i].name)
		}
	}
	return nil
}

const fewMembers = 12

// sortFew sorts by insertion: most maps have three keys.
func sortFew(members []member) {
	for i := 1; i < len(members); i++ {
		m, to := members[i], i
		for ; to > 0 && m.name < members[to-1].name; to-- {
			members[to] = members[to-1]
		}
		members[to] = m
	}
}

func inOrder(members []member) bool {
	for i := 1; i < len(members); i++ {
		if members[i].name <= members[i-1].name {
			return false
		}
	}
	return true
}

// arrangement remembers where an object's members began.
type arrangement struct{ members, start int }

// begin opens an object whose members are written in any order, each between
// beginMember and endMember.
func (e *encoder) begin() arrangement {
	e.buf = append(e.buf, '{')
	return arrangement{len(e.members), len(e.buf)}
}

// beginMember writes a name, and returns the member that begins there and the place of its value.
func (e *encoder) beginMember(name string) (begun member, from int) {
	begun = member{name: name, start: len(e.buf)}
	e.buf = append(appendString(e.buf, name), ':')
	if len(e.buf)-begun.start != len(`"":`)+len(name) {
		begun.name = valid(name) // the name was escaped
	}
	return begun, len(e.buf)
}

func (e *encoder) endMember(begun member) {
	e.buf = append(e.buf, ',')
	begun.end = len(e.buf)
	e.members = append(e.members, begun)
}

// arrange brings the members written since begin in order and closes the object.
func (e *encoder) arrange(from arrangement) error {
	members := e.members[from.members:]
	if !inOrder(members) {
		if err := sortMembers(members); err != nil {
			return err
		}
		at := len(e.scratch)
		e.scratch = append(e.scratch, e.buf[from.start:]...)
		e.buf = e.buf[:from.start]
		for _, m := range members {
			e.buf = append(e.buf, e.scratch[at+m.start-from.start:at+m.end-from.start]...)
		}
		e.scratch = e.scratch[:at]
	}
	e.dropMembers(from.members)
	e.closeObject()
	return nil
}

// dropMembers removes the members from the given place on, with their values.
func (e *encoder) dropMembers(from int) {
	clear(e.members[from:])
	e.members = e.members[:from]
}

// closeObject ends an object whose members each left a comma behind.
func (e *encoder) closeObject() {
	if last := len(e.buf) - 1; e.buf[last] == ',' {
		e.buf[last] = '}'
		return
	}
	e.buf = append(e.buf, '}')
}

func (e *encoder) textMember(name, text string) {
	begun, _ := e.beginMember(name)
	e.buf = appendString(e.buf, text)
	e.endMember(begun)
}
