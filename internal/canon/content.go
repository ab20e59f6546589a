package canon

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	edits   []Edit // to be carried out
}

// read returns the content of obj, with the stringData of a Secret merged into data.
func read(obj Object) (content, error) {
	if e, ok := obj.(*edited); ok {
		c, err := read(e.Object)
		c.edits = append(slices.Clip(c.edits), e.edit)
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
		return content{}, fmt.Errorf("cannot read an object of type %T: it is not a pointer to a struct", obj)
	}
	plan, ok := planOf(v.Type().Elem(), true).(*structPlan)
	if !ok {
		return content{}, fmt.Errorf("cannot read an object of type %T: its JSON is not an object", obj)
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
		return content{}, fmt.Errorf("cannot read %T: its JSON is not an object", obj)
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

// An Edit returns the changed canonical form of an object, whose shape is top; nil if nothing is left.
type Edit func(top Shape, form Raw) (Raw, error)

// Edited returns obj with an edit, for the functions of this package and of delta. Its methods are those
// of obj and ignore the edit.
func Edited(obj Object, edit Edit) Object { return &edited{Object: obj, edit: edit} }

type edited struct {
	Object
	edit Edit
}

// unedited returns obj without edits.
func unedited(obj Object) Object {
	for {
		e, ok := obj.(*edited)
		if !ok {
			return obj
		}
		obj = e.Object
	}
}

// edit returns c with its edits carried out.
func (c *content) edit(explicit bool) (*content, error) {
	before := *c
	before.edits = nil
	top, text, err := form(nil, &before, &parts{metadata: true, identity: true, digests: true, explicit: explicit})
	if err != nil {
		return nil, err
	}
	for _, edit := range c.edits {
		if text, err = edit(top, text); err != nil {
			return nil, err
		}
	}
	members, _ := text.Value().(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	if c.members != nil {
		members["apiVersion"] = c.members["apiVersion"]
	}
	return &content{object: c.object, plan: c.plan, members: members}, nil
}

// withSecretData returns the Secret behind v, or, if the Secret has stringData, a copy whose stringData
// is merged into data, as the API server does. The type is recognised by its name: canon does not
// import k8s.io/api.
func withSecretData(v reflect.Value) reflect.Value {
	secret := v.Elem()
	text := *secret.FieldByName("StringData").Addr().Interface().(*map[string]string)
	if len(text) == 0 {
		return v
	}
	merged := addressable(secret)
	data := maps.Clone(*secret.FieldByName("Data").Addr().Interface().(*map[string][]byte))
	if data == nil {
		data = make(map[string][]byte, len(text))
	}
	for key, value := range text {
		data[key] = []byte(validUTF8(value))
	}
	merged.FieldByName("Data").Set(reflect.ValueOf(data))
	merged.FieldByName("StringData").SetZero()
	return merged.Addr()
}

// withSecretMembers is withSecretData for unstructured content. Malformed members are left for the
// server to refuse.
func withSecretMembers(members map[string]any) map[string]any {
	text, ok := members["stringData"].(map[string]any)
	if !ok || members["kind"] != "Secret" || members["apiVersion"] != "v1" {
		return members
	}
	old, ok := members["data"].(map[string]any)
	if !ok && members["data"] != nil {
		return members
	}
	data := maps.Clone(old)
	if data == nil {
		data = make(map[string]any, len(text))
	}
	for key, value := range text {
		value, ok := value.(string)
		if !ok {
			return members
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(validUTF8(value)))
	}
	merged := maps.Clone(members)
	delete(merged, "stringData")
	if len(data) > 0 || old != nil {
		merged["data"] = data
	}
	return merged
}

// podSpecs are where built-in kinds have pods: a Pod, a PodTemplate, a workload, a CronJob.
var podSpecs = [][]string{
	{"spec"},
	{"template", "spec"},
	{"spec", "template", "spec"},
	{"spec", "jobTemplate", "spec", "template", "spec"},
}

// withEnvValues returns the members of a built-in kind with the empty values that are not
// spelled out, in a copy if there are any.
func withEnvValues(members map[string]any) map[string]any {
	var content any = members
	for _, path := range podSpecs {
		for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
			content, _ = changed(content, append(slices.Clone(path), list), func(containers any) (any, bool) {
				return changedItems(containers, func(container any) (any, bool) {
					return changed(container, []string{"env"}, func(variables any) (any, bool) {
						return changedItems(variables, withEnvValue)
					})
				})
			})
		}
	}
	members, _ = content.(map[string]any)
	return members
}

func withEnvValue(item any) (any, bool) {
	variable, ok := item.(map[string]any)
	if !ok || variable["value"] != nil || variable["valueFrom"] != nil {
		return item, false
	}
	variable = maps.Clone(variable)
	variable["value"] = ""
	return variable, true
}

// changed returns an object with the value at path edited, in a copy of all on the way there;
// false if edit changes nothing.
func changed(object any, path []string, edit func(any) (any, bool)) (any, bool) {
	if len(path) == 0 {
		return edit(object)
	}
	members, _ := object.(map[string]any)
	inner, ok := changed(members[path[0]], path[1:], edit)
	if !ok {
		return object, false
	}
	members = maps.Clone(members)
	members[path[0]] = inner
	return members, true
}

// changedItems does so with each item of a list.
func changedItems(list any, edit func(any) (any, bool)) (any, bool) {
	items, _ := list.([]any)
	isCopy := false
	for i, item := range items {
		item, ok := edit(item)
		if !ok {
			continue
		}
		if !isCopy {
			items, isCopy = slices.Clone(items), true
		}
		items[i] = item
	}
	return items, isCopy
}
