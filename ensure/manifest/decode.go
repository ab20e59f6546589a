package manifest

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A document is one YAML document of a text, with its values.
type document struct {
	*rendered

	root *yaml.Node
}

// decode returns the object of a document, if its kind is among kinds.
func (d document) decode(strict runtime.Decoder, kinds []schema.GroupVersionKind) (client.Object, error) {
	if d.root.Kind != yaml.MappingNode {
		return nil, d.at(d.root.Line).error("", "a document is an object, with apiVersion and kind")
	}
	if err := d.checkKind(kinds); err != nil {
		return nil, err
	}
	content, fault := d.contentOf(d.root, nil)
	if fault != nil {
		return nil, fault
	}
	object, err := decodeWith(strict, content)
	if err != nil {
		return nil, d.locate(strict, err)
	}
	return object, nil
}

func (d document) checkKind(kinds []schema.GroupVersionKind) *Error {
	kind := schema.FromAPIVersionAndKind(d.member("apiVersion").Value, d.member("kind").Value)
	if slices.Contains(kinds, kind) {
		return nil
	}
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.GroupVersion().String() + " " + kind.Kind
	}
	return d.at(max(d.root.Line, d.member("kind").Line)).error("kind",
		"is not one of the expected kinds: "+strings.Join(names, ", "))
}

// member is a value at the top; one with line 0 if there is none.
func (d document) member(name string) *yaml.Node {
	for i := 0; i < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == name {
			return d.root.Content[i+1]
		}
	}
	return &yaml.Node{}
}

// contentOf returns node as encoding/json would decode it.
func (d document) contentOf(node *yaml.Node, at *step) (any, *Error) {
	switch node.Kind {
	case yaml.MappingNode:
		members := make(map[string]any, len(node.Content)/2)
		for child, path := range children(node, at) {
			content, err := d.contentOf(child, path)
			if err != nil {
				return nil, err
			}
			members[path.name] = content
		}
		return members, nil
	case yaml.SequenceNode:
		items := make([]any, 0, len(node.Content))
		for child, path := range children(node, at) {
			content, err := d.contentOf(child, path)
			if err != nil {
				return nil, err
			}
			items = append(items, content)
		}
		return items, nil
	default:
		return d.scalarOf(node, at)
	}
}

func (d document) scalarOf(node *yaml.Node, at *step) (any, *Error) {
	if isText(node) {
		return node.Value, nil
	}
	var content any
	err := node.Decode(&content)
	if _, encodeErr := json.Marshal(content); err != nil || encodeErr != nil { // infinity, and a NaN
		return nil, d.at(node.Line).error(at.String(), "JSON has no such value")
	}
	if _, ambiguous := content.(string); ambiguous {
		return nil, d.at(node.Line).error(at.String(), "YAML 1.1 and 1.2 read this word differently: quote it, or say true or false")
	}
	return content, nil
}

// keepIn sets the namespace of object, and refuses another one.
func (d document) keepIn(namespace string, object client.Object) error {
	switch object.GetNamespace() {
	case namespace:
		return nil
	case "":
		object.SetNamespace(namespace)
		return nil
	}
	line := d.root.Line
	for node, path := range scalars(d.root, nil) {
		if path.String() == "metadata.namespace" {
			line = node.Line
		}
	}
	if namespace == "" {
		return d.at(line).error("metadata.namespace", "must be empty, as no namespace was given")
	}
	return d.at(line).error("metadata.namespace", "differs from the given namespace; leave it out")
}
