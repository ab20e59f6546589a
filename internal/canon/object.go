package canon

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DigestPrefix is the prefix of the annotations that hold digests by default. They describe an object and
// are not part of its content.
const DigestPrefix = "spec-hash.trueup-go.github.io/"

// An Object has the methods of API objects that canon needs. Every client.Object has them.
type Object interface {
	metav1.Object
	runtime.Object
}

// Append appends the canonical form of v, any API value, to dst.
//
// An Object, or a struct to which an Object points, is appended as by AppendObject, and any other value
// by the rules of the package. A value without a JSON form (a channel, a function, NaN, a cycle of
// pointers) is an error, and dst is returned unchanged.
func Append(dst []byte, v any) ([]byte, error) {
	if obj, ok := asObject(v); ok {
		return AppendObject(dst, obj)
	}
	return encode(dst, func(e *encoder) error { return e.any(v) })
}

// AppendObject appends everything that obj specifies to dst: its content and, of its metadata, the
// namespace, name, labels, annotations, owner references and finalizers. The status, apiVersion, kind,
// and annotations whose keys begin with DigestPrefix are left out.
func AppendObject(dst []byte, obj Object) ([]byte, error) {
	return appendParts(dst, obj, parts{metadata: true, identity: true})
}

// AppendContent appends everything that obj specifies outside metadata, status, apiVersion and kind.
func AppendContent(dst []byte, obj Object) ([]byte, error) {
	return appendParts(dst, obj, parts{})
}

func appendParts(dst []byte, obj Object, p parts) ([]byte, error) {
	c, err := read(obj)
	if err != nil {
		return dst, err
	}
	return encode(dst, func(e *encoder) error { return e.object(&c, &p) })
}

// parts selects the parts of an object that are written beside its content.
type parts struct {
	apiVersion, kind     string // if not empty
	uid, resourceVersion string // likewise
	metadata             bool
	identity             bool // the namespace and name in metadata
	digests              bool // the annotations with DigestPrefix
	explicit             bool // empty values that are statements
}

// isReserved reports whether a member at the top of an object is no content.
func isReserved(name string) bool {
	return name == "metadata" || name == "status" || name == "apiVersion" || name == "kind"
}

// object writes c and the parts that are asked for.
func (e *encoder) object(c *content, p *parts) error {
	if len(c.edits) > 0 {
		edited, err := c.edit(p.explicit)
		if err != nil {
			return err
		}
		rest := *p
		rest.explicit = false // a removed value does not come back as an empty one
		c, p = edited, &rest
	}
	e.explicit = p.explicit
	order := e.begin()
	e.nonEmptyMember("apiVersion", p.apiVersion)
	e.nonEmptyMember("kind", p.kind)
	if c.members != nil {
		if err := e.anyContent(c, p); err != nil {
			return err
		}
	} else if err := e.typedContent(c, p); err != nil {
		return err
	}
	return e.arrange(order)
}

func (e *encoder) anyContent(c *content, p *parts) error {
	e.isBuiltIn = c.isBuiltIn()
	e.around, _ = c.members["kind"].(string)
	for name, v := range c.members {
		if isReserved(name) {
			continue
		}
		if err := e.anyMember(name, v); err != nil {
			return err
		}
	}
	e.isBuiltIn = true
	return e.metadataPart(c, p)
}

// typedContent writes the fields, with the metadata in order.
func (e *encoder) typedContent(c *content, p *parts) error {
	met := false
	for i := range c.plan.fields {
		f := &c.plan.fields[i]
		if f.name == "metadata" {
			met = true
			if err := e.metadataPart(c, p); err != nil {
				return err
			}
		}
		if isReserved(f.name) {
			continue
		}
		value, ok := f.in(c.typed)
		if !ok || f.omit.applies(value) {
			continue
		}
		start := len(e.buf)
		if err := f.append(e, value); err != nil {
			return err
		}
		if end := len(e.buf); end > start {
			e.members = append(e.members, member{name: f.name, start: start, end: end})
		}
	}
	if met {
		return nil
	}
	return e.metadataPart(c, p)
}

func (e *encoder) metadataPart(c *content, p *parts) error {
	if !p.metadata {
		return nil
	}
	if err := e.metadata(c, p); err != nil {
		return inMember("metadata", err)
	}
	return nil
}

// metadataPlans are the plans of the lists in an object's metadata, which are
// merged: owner references by UID, finalizers as a set.
var metadataPlans = sync.OnceValue(func() (lists struct{ owners, finalizers *listPlan }) {
	for _, f := range planOf(reflect.TypeFor[metav1.ObjectMeta](), true).(*structPlan).fields {
		switch f.name {
		case "ownerReferences":
			lists.owners = f.plan.(*listPlan)
		case "finalizers":
			lists.finalizers = f.plan.(*listPlan)
		}
	}
	return lists
})

// keep returns which keys of the metadata's member are written.
func (p *parts) keep(member string) func(key string) bool {
	if member == "annotations" && !p.digests {
		return isNoDigest
	}
	return isAny
}

func isNoDigest(key string) bool { return !strings.HasPrefix(key, DigestPrefix) }

// metadata writes the members of the metadata that a caller specifies, if there
// are any.
func (e *encoder) metadata(c *content, p *parts) error {
	begun, from := e.beginMember("metadata")
	order := e.begin()
	if c.members != nil {
		if err := e.anyMetadata(c, p); err != nil {
			return err
		}
	} else if err := e.typedMetadata(c.object, p); err != nil {
		return err
	}
	e.nonEmptyMember("resourceVersion", p.resourceVersion)
	e.nonEmptyMember("uid", p.uid)
	if err := e.arrange(order); err != nil {
		return err
	}
	if !e.truncateIf(begun.start, from, "{}") {
		e.endMember(begun)
	}
	return nil
}

// typedMetadata writes the metadata that the methods of obj return, in order.
func (e *encoder) typedMetadata(obj Object, p *parts) error {
	if err := e.mapMember("annotations", obj.GetAnnotations(), p.keep("annotations")); err != nil {
		return err
	}
	plans := metadataPlans()
	if err := e.listMember("finalizers", plans.finalizers, itemsOf(obj.GetFinalizers())); err != nil {
		return err
	}
	if err := e.mapMember("labels", obj.GetLabels(), p.keep("labels")); err != nil {
		return err
	}
	if p.identity {
		e.nonEmptyMember("name", obj.GetName())
		e.nonEmptyMember("namespace", obj.GetNamespace())
	}
	return e.listMember("ownerReferences", plans.owners, itemsOf(obj.GetOwnerReferences()))
}

func (e *encoder) nonEmptyMember(name, text string) {
	if text != "" {
		e.textMember(name, text)
	}
}

func (e *encoder) mapMember(name string, m map[string]string, keep func(string) bool) error {
	if len(m) == 0 {
		return nil
	}
	begun, from := e.beginMember(name)
	if err := e.stringMap(m, keep); err != nil {
		return inMember(name, err)
	}
	if !e.truncateIf(begun.start, from, "{}") {
		e.endMember(begun)
	}
	return nil
}

func (e *encoder) listMember(name string, p *listPlan, list items) error {
	if list.first.isNone() {
		return nil
	}
	begun, _ := e.beginMember(name)
	if err := p.appendItems(e, list); err != nil {
		return inMember(name, err)
	}
	e.endMember(begun)
	return nil
}

// anyMetadata writes unstructured metadata unchanged, except for empty annotations and labels.
func (e *encoder) anyMetadata(c *content, p *parts) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	names := metadataNames
	if p.identity {
		names = slices.Concat(names, []string{"name", "namespace"})
	}
	for _, name := range names {
		v := metadata[name]
		if m, ok := v.(map[string]any); ok {
			v = nonEmpty(m, p.keep(name))
		}
		if err := e.anyMember(name, v); err != nil {
			return err
		}
	}
	return nil
}

// metadataNames are the members of the metadata that are compared.
var metadataNames = []string{"annotations", "labels", "ownerReferences", "finalizers"}

// nonEmpty returns the values in m under the keys for which keep holds, or nil if there are none.
func nonEmpty(m map[string]any, keep func(string) bool) map[string]any {
	rest := maps.Clone(m)
	maps.DeleteFunc(rest, func(key string, _ any) bool { return !keep(key) })
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// metadata returns the metadata of unstructured content; nil if there is none.
func (c *content) metadata() (map[string]any, error) {
	v := c.members["metadata"]
	metadata, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("is a %T, not an object", v)
	}
	return metadata, nil
}

func asObject(v any) (Object, bool) {
	if obj, ok := v.(Object); ok {
		return obj, true
	}
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Struct || !reflect.PointerTo(t).Implements(objectType) {
		return nil, false
	}
	return addressable(reflect.ValueOf(v)).Addr().Interface().(Object), true
}

var objectType = reflect.TypeFor[Object]()
