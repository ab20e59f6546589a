package canon

// WithoutNulls leaves members that are null out of a JSON object, such as Body writes: those
// with one of the paths. A path has [] for an item of a list: spec.parts[].size. It returns
// nil if there is no such member.
func WithoutNulls(body []byte, paths []string) []byte {
	parsed, err := parseJSON(body)
	if err != nil {
		return nil
	}
	refused := make(map[string]bool, len(paths))
	for _, path := range paths {
		refused[path] = true
	}
	if !dropNulls(parsed, "", refused) {
		return nil
	}
	rest, err := Append(nil, parsed)
	if err != nil {
		return nil
	}
	return rest
}

// dropNulls reports whether it has dropped any.
func dropNulls(v any, path string, refused map[string]bool) (dropped bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			at := join(path, name)
			if member == nil && refused[at] {
				delete(v, name)
				dropped = true
			}
			dropped = dropNulls(member, at, refused) || dropped
		}
	case []any:
		for _, item := range v {
			dropped = dropNulls(item, path+"[]", refused) || dropped
		}
	}
	return dropped
}
