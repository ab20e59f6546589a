package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DigestPrefix begins the annotations that hold digests by default. They are
// about an object and no part of what it specifies.
const DigestPrefix = "spec-hash.trueup-go.github.io/"

// Object is what canon needs of an API object; every client.Object has it.
type Object interface {
	metav1.Object
	runtime.Object
}

// AppendObject appends everything obj specifies to dst: of its metadata the
// namespace, name, labels, annotations, owner references and finalizers, and its
// content. Not part of it are status, apiVersion, kind, and the annotations
// whose keys begin with DigestPrefix.
func AppendObject(dst []byte, obj Object) ([]byte, error) {
	return appendParts(dst, obj, parts{metadata: true, identity: true})
}

// AppendContent appends what obj specifies outside metadata, status, apiVersion
// and kind.
func AppendContent(dst []byte, obj Object) ([]byte, error) {
	return appendParts(dst, obj, parts{})
}

func appendParts(dst []byte, obj Object, p parts) ([]byte, error) {
	c, err := read(obj)
	if err != nil {
		return dst, err
	}
	return encode(dst, func(e *encoder) error { return e.object(c, p) })
}

// parts says what is written of an object beside its content.
type parts struct {
	apiVersion, kind     string // if not empty
	uid, resourceVersion string // likewise
	metadata             bool
	identity             bool // the namespace and name in metadata
	digests              bool // the annotations with DigestPrefix
}

// reserved reports whether a member at the top of an object is no content.
func reserved(name string) bool {
	return name == "metadata" || name == "status" || name == "apiVersion" || name == "kind"
}

// content is an object as it is read: a struct, or the members of a JSON object.
type content struct {
	object  Object
	typed   reflect.Value
	members map[string]any
}

func (c *content) plan() *structPlan { return planOf(c.typed.Type(), true).(*structPlan) }

// read finds the content of obj, with a Secret's stringData where the server
// puts it.
func read(obj Object) (content, error) {
	v := reflect.ValueOf(obj)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return content{}, errors.New("cannot read an object that is nil")
	}
	if u, ok := obj.(runtime.Unstructured); ok {
		members := u.UnstructuredContent()
		if members == nil {
			members = map[string]any{}
		}
		return content{object: obj, members: withSecretMembers(members)}, nil
	}
	if marshaler, ok := obj.(json.Marshaler); ok {
		return readMarshaler(obj, marshaler)
	}
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return content{}, fmt.Errorf("cannot read an object of type %T: it is no pointer to a struct", obj)
	}
	return content{object: obj, typed: withSecretData(v.Elem())}, nil
}

// readMarshaler reads an object that has a JSON form of its own.
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
	return content{object: obj, members: withSecretMembers(members)}, nil
}

// object writes c, its parts in order.
func (e *encoder) object(c content, p parts) error {
	order := e.begin()
	if p.apiVersion != "" {
		e.textMember("apiVersion", p.apiVersion)
	}
	if p.kind != "" {
		e.textMember("kind", p.kind)
	}
	if p.metadata {
		if err := e.metadata(c, p); err != nil {
			return inMember("metadata", err)
		}
	}
	if err := e.content(c); err != nil {
		return err
	}
	return e.arrange(order)
}

func (e *encoder) content(c content) error {
	if c.members != nil {
		for name, v := range c.members {
			if reserved(name) {
				continue
			}
			if err := e.anyMember(name, v); err != nil {
				return err
			}
		}
		return nil
	}
	fields := c.plan().fields
	for i := range fields {
		if reserved(fields[i].name) {
			continue
		}
		start := len(e.buf)
		if err := fields[i].append(e, c.typed); err != nil {
			return err
		}
		if end := len(e.buf) - 1; end > start {
			e.buf = e.buf[:end] // the comma; arrange sets its own
			e.members = append(e.members, member{name: fields[i].name, start: start, end: end})
		}
	}
	return nil
}

func (e *encoder) textMember(name, text string) {
	start := len(e.buf)
	e.buf = append(appendString(e.buf, name), ':')
	e.buf = appendString(e.buf, text)
	e.members = append(e.members, member{name: name, start: start, end: len(e.buf)})
}
