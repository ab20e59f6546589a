package canon

// A stringMapPlan reads a map[string]string: labels, annotations, the data of a ConfigMap. These maps
// are by far the most frequent, and need no reflection.
type stringMapPlan struct{}

func (stringMapPlan) null(v place) bool { return v.isNil() }

func (stringMapPlan) append(e *encoder, v place) error {
	if v.isNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	return e.stringMap(*as[map[string]string](v), isAny)
}

// stringMap writes the entries of a map whose keys keep accepts. The entries are sorted before they are
// written, as a text may be long.
func (e *encoder) stringMap(m map[string]string, keep func(string) bool) error {
	from := len(e.members)
	for key, text := range m {
		if keep(key) {
			e.members = append(e.members, member{name: key, text: text})
		}
	}
	members := e.members[from:]
	for i := range members {
		members[i].checkName()
	}
	if err := sortMembers(members); err != nil {
		return err
	}
	e.buf = append(e.buf, '{')
	for i := range members {
		e.buf = append(members[i].appendName(e.buf), ':')
		e.buf = append(appendString(e.buf, members[i].text), ',')
	}
	e.closeObject()
	e.dropMembers(from)
	return nil
}

// checkName sets the name to its form in JSON. Most names have that form already.
func (m *member) checkName() {
	if m.plain = plain(m.name); !m.plain {
		m.name = valid(m.name)
	}
}

func (m *member) appendName(dst []byte) []byte {
	if m.plain {
		return appendPlain(dst, m.name)
	}
	return appendString(dst, m.name)
}
