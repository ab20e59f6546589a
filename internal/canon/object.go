package canon

import (
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

// reserved reports whether a member at the top of an object is no content.
func reserved(name string) bool {
	return name == "metadata" || name == "status" || name == "apiVersion" || name == "kind"
}

// object writes c and the parts that are asked for.
func (e *encoder) object(c *content, p *parts) error {
	if len(c.edits) > 0 {
		edited, err := c.edited(p.explicit)
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
	for name, v := range c.members {
		if reserved(name) {
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
		if reserved(f.name) {
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
