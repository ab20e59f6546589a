package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newStrictDecoder decodes as an API server does with fieldValidation Strict.
func newStrictDecoder(scheme *runtime.Scheme) runtime.Decoder {
	return serializer.NewSerializerWithOptions(
		serializer.DefaultMetaFactory, scheme, scheme, serializer.SerializerOptions{Strict: true})
}

// decodeWith makes the object of a document's content.
func decodeWith(strict runtime.Decoder, content any) (client.Object, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	decoded, _, err := strict.Decode(encoded, nil, nil)
	if err != nil {
		return nil, err
	}
	object, ok := decoded.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an API object", decoded)
	}
	return object, nil
}

// A search finds the part of a document that cannot be decoded: the errors of decoding
// name no line, and often no field.
type search struct {
	document

	strict runtime.Decoder
}

// locate returns an error with the position of the mistake in a document whose decoding failed with
// err.
func (d document) locate(strict runtime.Decoder, err error) *Error {
	s := search{document: d, strict: strict}
	if fault := s.in(d.root, nil, func(part any) any { return part }); fault != nil {
		return fault
	}
	return d.at(d.root.Line).error("", problemOf(err))
}

// in searches node for the first part that cannot be decoded by itself, and returns nil if there is
// none. wrap puts a part into its place in the document, with nothing beside it.
func (s search) in(node *yaml.Node, at *step, wrap func(any) any) *Error {
	for child, path := range children(node, at) {
		if path.from == nil && (path.name == "apiVersion" || path.name == "kind") {
			continue
		}
		wrapChild := func(part any) any {
			if node.Kind == yaml.SequenceNode {
				return wrap([]any{part})
			}
			return wrap(map[string]any{path.name: part})
		}
		content, _ := s.contentOf(child, path) // the part was read before
		if s.try(wrapChild(content)) == nil {
			continue
		}
		if err := s.try(wrapChild(hollow(content))); err != nil {
			return s.at(s.lineOf(node, child)).error(path.String(), problemOf(err))
		}
		if fault := s.in(child, path, wrapChild); fault != nil {
			return fault
		}
		return s.at(s.lineOf(node, child)).error(path.String(), problemOf(s.try(wrapChild(content))))
	}
	return nil
}

// try decodes an object that has only this content.
func (s search) try(content any) error {
	members, _ := content.(map[string]any) // which wrap begins with
	members = maps.Clone(members)
	members["apiVersion"], members["kind"] = s.member("apiVersion").Value, s.member("kind").Value
	_, err := decodeWith(s.strict, members)
	return err
}

// hollow returns an empty value of the type of content.
func hollow(content any) any {
	switch content.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	default:
		return content
	}
}

// lineOf returns the line of the child's key, if there is one: the child may begin below its key.
func (s search) lineOf(node, child *yaml.Node) int {
	for i := 1; i < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		if node.Content[i] == child {
			return node.Content[i-1].Line
		}
	}
	return child.Line
}

// problemOf returns the text of an error without the value, which some types quote.
func problemOf(err error) string {
	if strict, ok := runtime.AsStrictDecodingError(err); ok && strings.HasPrefix(strict.Errors()[0].Error(), "unknown field") {
		return "is not a field of this kind"
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		given, _, _ := strings.Cut(wrong.Value, " ")
		return fmt.Sprintf("is of type %s, but must be of type %s", given, wrong.Type)
	}
	return "is not a value of its type"
}
