package canon

// any compares two values that are known only at run time; desired is not null.
func (c *comparison) any(live, desired any) bool {
	if !c.enter() {
		return false
	}
	defer c.leave()
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		return ok && c.members(l, d)
	case []any:
		l, ok := live.([]any)
		return ok && c.items(l, d)
	case string:
		l, ok := live.(string)
		return ok && sameText(l, d)
	default:
		return c.forms(live, desired)
	}
}

func (c *comparison) members(live, desired map[string]any) bool {
	for key, d := range desired {
		if !c.member(live, key, d) {
			return false
		}
	}
	return true
}

// member compares one member. An empty list is satisfied by absence; an empty
// object is not: it may be all there is to a volume's emptyDir or to a selector
// of everything.
func (c *comparison) member(live map[string]any, key string, desired any) bool {
	if isNull(desired) {
		return true
	}
	l, ok := live[key]
	if !ok {
		l, ok = live[valid(key)]
	}
	if list, empty := desired.([]any); empty && len(list) == 0 && isNull(l) {
		return true
	}
	return ok && c.any(l, desired)
}

func (c *comparison) items(live, desired []any) bool {
	if len(live) != len(desired) {
		return false
	}
	for i, d := range desired {
		if isNull(d) != isNull(live[i]) || !isNull(d) && !c.any(live[i], d) {
			return false
		}
	}
	return true
}

// forms compares values by their canonical forms: numbers, which may be of
// different Go types, and whatever has to be written to be known.
func (c *comparison) forms(live, desired any) bool {
	l, errLive := Append(nil, live)
	d, errDesired := Append(nil, desired)
	if errLive != nil || errDesired != nil {
		return false
	}
	if string(l) == string(d) {
		return true
	}
	if d[0] != '{' && d[0] != '[' {
		return false
	}
	parsedLive, errLive := parseJSON(l)
	parsedDesired, errDesired := parseJSON(d)
	return errLive == nil && errDesired == nil && c.any(parsedLive, parsedDesired)
}

// anyMetadata compares unstructured metadata, whose lists are merged.
func (c *comparison) anyMetadata(live, desired map[string]any) bool {
	for _, name := range metadataNames {
		if !c.anyMetadataMember(name, live[name], desired[name]) {
			return false
		}
	}
	return true
}

func (c *comparison) anyMetadataMember(name string, live, desired any) bool {
	switch d := desired.(type) {
	case nil:
		return true
	case map[string]any:
		l, _ := live.(map[string]any)
		return c.members(l, d)
	case []any:
		l, _ := live.([]any)
		return c.merged(l, d, name == "ownerReferences")
	default:
		return c.any(live, desired)
	}
}

// merged finds every item of desired in live, which may hold more; in desired's
// order if that matters.
func (c *comparison) merged(live, desired []any, ordered bool) bool {
	next := 0
	for _, d := range desired {
		if !ordered {
			next = 0
		}
		for next < len(live) && !c.items(live[next:next+1], []any{d}) {
			next++
		}
		if next == len(live) {
			return false
		}
		next++
	}
	return true
}
