package canon

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
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

// keep returns which keys of the metadata's member are written.
func (p *parts) keep(member string) func(key string) bool {
	if member == "annotations" && !p.digests {
		return isNoDigest
	}
	return isAny
}

func isNoDigest(key string) bool { return !strings.HasPrefix(key, DigestPrefix) }

func isAny(string) bool { return true }

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
	if list.first.none() {
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
