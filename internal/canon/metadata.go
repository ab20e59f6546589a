package canon

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

func isDigest(key string) bool { return strings.HasPrefix(key, DigestPrefix) }

// metadata writes the members of the metadata that a caller specifies, if there
// are any.
func (e *encoder) metadata(c content, p parts) error {
	mark := len(e.buf)
	e.buf = append(e.buf, `"metadata":`...)
	start := len(e.buf)
	order := e.begin()
	write := e.typedMetadata
	if c.members != nil {
		write = e.anyMetadata
	}
	if err := write(c, p); err != nil {
		return err
	}
	if p.uid != "" {
		e.textMember("uid", p.uid)
	}
	if p.resourceVersion != "" {
		e.textMember("resourceVersion", p.resourceVersion)
	}
	if err := e.arrange(order); err != nil {
		return err
	}
	if !e.truncateIf(mark, start, "{}") {
		e.members = append(e.members, member{name: "metadata", start: mark, end: len(e.buf)})
	}
	return nil
}

func (e *encoder) typedMetadata(c content, p parts) error {
	obj := c.object
	if p.identity {
		e.nonEmptyMember("name", obj.GetName())
		e.nonEmptyMember("namespace", obj.GetNamespace())
	}
	skip := isDigest
	if p.digests {
		skip = nil
	}
	if err := e.mapMember("annotations", obj.GetAnnotations(), skip); err != nil {
		return err
	}
	if err := e.mapMember("labels", obj.GetLabels(), nil); err != nil {
		return err
	}
	e.owners, e.finalizers = obj.GetOwnerReferences(), obj.GetFinalizers()
	plans := metadataPlans()
	if err := e.listMember("ownerReferences", plans.owners, reflect.ValueOf(&e.owners).Elem()); err != nil {
		return err
	}
	return e.listMember("finalizers", plans.finalizers, reflect.ValueOf(&e.finalizers).Elem())
}

func (e *encoder) nonEmptyMember(name, text string) {
	if text != "" {
		e.textMember(name, text)
	}
}

func (e *encoder) mapMember(name string, m map[string]string, skip func(string) bool) error {
	start := len(e.buf)
	e.buf = append(appendString(e.buf, name), ':')
	from := len(e.buf)
	if err := e.stringMap(m, skip); err != nil {
		return inMember(name, err)
	}
	if !e.truncateIf(start, from, "{}") {
		e.members = append(e.members, member{name: name, start: start, end: len(e.buf)})
	}
	return nil
}

func (e *encoder) listMember(name string, p *listPlan, list reflect.Value) error {
	if list.IsNil() {
		return nil
	}
	start := len(e.buf)
	e.buf = append(appendString(e.buf, name), ':')
	if err := p.append(e, list); err != nil {
		return inMember(name, err)
	}
	e.members = append(e.members, member{name: name, start: start, end: len(e.buf)})
	return nil
}

// anyMetadata writes what there is in unstructured metadata as it is, but for
// annotations and labels that hold nothing.
func (e *encoder) anyMetadata(c content, p parts) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	names := metadataNames
	if p.identity {
		names = append(names, "name", "namespace")
	}
	for _, name := range names {
		v := metadata[name]
		if m, ok := v.(map[string]any); ok {
			v = withoutDigests(m, p.digests)
		}
		if err := e.anyMember(name, v); err != nil {
			return err
		}
	}
	return nil
}

// metadataNames are the members of the metadata that are compared.
var metadataNames = []string{"annotations", "labels", "ownerReferences", "finalizers"}

// withoutDigests returns m without digests, or nil if it holds nothing else.
func withoutDigests(m map[string]any, digests bool) map[string]any {
	var rest map[string]any
	for key, v := range m {
		if digests || !isDigest(key) {
			if rest == nil {
				rest = make(map[string]any, len(m))
			}
			rest[key] = v
		}
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
