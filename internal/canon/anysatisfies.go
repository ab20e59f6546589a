package canon

import (
	"bytes"
	"slices"
)

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
	if isNull(desired) && dropsNull(c.isBuiltIn, key) {
		return true
	}
	l, ok := live[key]
	if !ok {
		l, ok = live[valid(key)]
	}
	if list, empty := desired.([]any); empty && len(list) == 0 && isNull(l) {
		return true
	}
	if isNull(desired) || isNull(l) {
		return ok && isNull(desired) == isNull(l)
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
	if bytes.Equal(l, d) {
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
	c.isBuiltIn = true
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
		if name == "ownerReferences" {
			return c.inOrder(l, d)
		}
		return c.inAnyOrder(l, d)
	default:
		return c.any(live, desired)
	}
}

// inOrder finds every item of desired in live, which may hold more, each after
// the one before.
func (c *comparison) inOrder(live, desired []any) bool {
	for _, d := range desired {
		at := c.find(live, d)
		if at < 0 {
			return false
		}
		live = live[at+1:]
	}
	return true
}

// inAnyOrder finds every item of desired in live, which may hold more.
func (c *comparison) inAnyOrder(live, desired []any) bool {
	for _, d := range desired {
		if c.find(live, d) < 0 {
			return false
		}
	}
	return true
}

func (c *comparison) find(live []any, desired any) int {
	return slices.IndexFunc(live, func(l any) bool { return c.items([]any{l}, []any{desired}) })
}
