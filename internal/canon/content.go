package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// content is the content of an object: a struct and its plan, or the members of a JSON object, with the
// plan if they were made from a struct.
type content struct {
	object  Object
	typed   place
	plan    *structPlan
	members map[string]any
	edits   []Edit // to be made
}

// read returns the content of obj, with the stringData of a Secret merged into data.
func read(obj Object) (content, error) {
	if e, ok := obj.(*withEdits); ok {
		c, err := read(e.Object)
		c.edits = slices.Concat(c.edits, e.edits)
		return c, err
	}
	v := reflect.ValueOf(obj)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return content{}, errors.New("cannot read an object that is nil")
	}
	if u, ok := obj.(runtime.Unstructured); ok {
		members := u.UnstructuredContent()
		if members == nil {
			members = map[string]any{}
		}
		return contentOf(obj, members), nil
	}
	if marshaler, ok := obj.(json.Marshaler); ok {
		return readMarshaler(obj, marshaler)
	}
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return content{}, fmt.Errorf("cannot read an object of type %T: it is no pointer to a struct", obj)
	}
	plan, ok := planOf(v.Type().Elem(), true).(*structPlan)
	if !ok {
		return content{}, fmt.Errorf("cannot read an object of type %T: its JSON is no object", obj)
	}
	if plan.secret {
		v = withSecretData(v)
	}
	return content{object: obj, typed: targetOf(v), plan: plan}, nil
}

// isBuiltIn reports whether unstructured content is of a kind of Kubernetes itself. Those
// are in groups that no other kind can be in: without a dot, or protected under k8s.io.
func (c *content) isBuiltIn() bool {
	if c.plan != nil {
		return false // a null in a struct was dropped
	}
	version, _ := c.members["apiVersion"].(string)
	group, _, _ := strings.Cut(version, "/")
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// readMarshaler reads an object with a JSON form of its own.
func readMarshaler(obj Object, marshaler json.Marshaler) (content, error) {
	text, err := marshaler.MarshalJSON()
	if err != nil {
		return content{}, fmt.Errorf("cannot marshal %T: %w", obj, err)
	}
	parsed, err := parseJSON(text)
	if err != nil {
		return content{}, fmt.Errorf("cannot parse the JSON of %T: %w", obj, err)
	}
	members, ok := parsed.(map[string]any)
	if !ok {
		return content{}, fmt.Errorf("cannot read %T: its JSON is no object", obj)
	}
	return contentOf(obj, members), nil
}

// contentOf returns unstructured content in the form of the server.
func contentOf(obj Object, members map[string]any) content {
	c := content{object: obj, members: withSecretMembers(members)}
	if c.isBuiltIn() {
		c.members = withEnvValues(c.members)
	}
	return c
}
