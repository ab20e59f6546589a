package manifest

import "go.yaml.in/yaml/v3"

// checkStructure refuses YAML features that make a document differ from its appearance.
func (r *rendered) checkStructure(node *yaml.Node, at *step) *Error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 {
		return r.at(node.Line).error(at.String(), noAnchors)
	}
	if node.Kind == yaml.MappingNode {
		if err := r.checkKeys(node, at); err != nil {
			return err
		}
	}
	for child, path := range children(node, at) {
		if err := r.checkStructure(child, path); err != nil {
			return err
		}
	}
	return nil
}

func (r *rendered) checkKeys(mapping *yaml.Node, at *step) *Error {
	seen := map[string]bool{}
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		inner := at.member(key.Value)
		problem := ""
		switch _, _, _, yielded := r.cut(key.Value); {
		case key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0:
			inner, problem = at, "a key must be a plain scalar"
		case yielded:
			inner, problem = at, "a key must not come from an action"
		case !isText(key):
			problem = "YAML does not read this key as a string: quote it"
		case seen[key.Value]:
			problem = "is a duplicate key"
		case at == nil && (key.Value == "apiVersion" || key.Value == "kind"):
			if _, _, _, yielded := r.cut(value.Value); yielded {
				problem = "must not come from an action"
			}
		}
		if problem != "" {
			return r.at(key.Line).error(inner.String(), problem)
		}
		seen[key.Value] = true
	}
	return nil
}
