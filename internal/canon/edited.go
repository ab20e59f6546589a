package canon

// An Edit changes one place of an object, given by Path. The new Value is JSON in the form of
// unstructured objects; nil removes the place.
type Edit struct {
	Path  []string
	Value any
}

// Edited returns obj with edits, for the functions of this package. Its methods are those of obj and
// ignore the edits. An edit inside an item that a list does not have is ignored.
func Edited(obj Object, edits ...Edit) Object {
	if len(edits) == 0 {
		return obj
	}
	return &withEdits{Object: obj, edits: edits}
}

type withEdits struct {
	Object
	edits []Edit
}

// edited returns c with its edits carried out.
func (c *content) edited(explicit bool) (*content, error) {
	before := *c
	before.edits = nil
	at, members, err := tree(before, parts{metadata: true, identity: true, digests: true, explicit: explicit})
	if err != nil {
		return nil, err
	}
	for _, edit := range c.edits {
		changed, err := at.put(members, edit.Path, edit.Value)
		if err != nil {
			return nil, err
		}
		members, _ = changed.(map[string]any) // nil if that was all
	}
	if members == nil {
		members = map[string]any{}
	}
	if c.members != nil {
		members["apiVersion"] = c.members["apiVersion"]
	}
	return &content{object: c.object, plan: c.plan, members: members}, nil
}

// put returns value, whose shape is s, with the value at the end of path replaced by to, or removed if
// to is nil. A list that becomes empty is removed, and so is a value for which empty and absent are the
// same.
func (s shape) put(value any, path []string, to any) (any, error) {
	if len(path) == 0 {
		return to, nil
	}
	inner, old, err := s.enter(value, path[0])
	if err != nil {
		return nil, err
	}
	if old == nil && to == nil {
		if members, ok := value.(map[string]any); ok && len(path) == 1 {
			delete(members, path[0]) // which is null
		}
		return value, nil
	}
	changed, err := inner.put(old, path[1:], to)
	if err != nil {
		return nil, err
	}
	if s.isListOf(value, path[0]) {
		items, _ := value.([]any)
		if old == nil && len(path) > 1 {
			return value, nil
		}
		return s.putItem(items, path[0], changed), nil
	}
	return s.putMember(value, path[0], changed), nil
}

// isListOf reports whether value, which may be nil, is a list with the item that step names.
func (s shape) isListOf(value any, step string) bool {
	_, ok := value.([]any)
	return ok || s.isList() || value == nil && s.plan == nil && len(ParseKeys(step)) > 0
}

// putMember replaces, adds or removes a member. It returns nil if no member is left.
func (s shape) putMember(value any, name string, member any) any {
	members, ok := value.(map[string]any)
	if !ok {
		members = map[string]any{}
	}
	if members[name] = member; member == nil {
		delete(members, name)
	}
	if len(members) == 0 && s.isAlwaysThere() {
		return nil
	}
	return members
}

func (s shape) isList() bool {
	_, ok := resolve(s.plan).(*listPlan)
	return ok
}

// putItem replaces the item with the name step, appends it, or removes it. It returns nil if no item is
// left.
func (s shape) putItem(items []any, step string, item any) any {
	_, rule := s.items()
	at, _ := rule.find(items, step) // was found, or not, before
	switch {
	case at < 0:
		return append(items, item)
	case item != nil:
		items[at] = item
		return items
	}
	items = append(items[:at:at], items[at+1:]...)
	if len(items) == 0 {
		return nil
	}
	return items
}
