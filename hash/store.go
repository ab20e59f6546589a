package hash

import (
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trueup-go/trueup/internal/canon"
)

// A Store reads and writes a digest in one place on an object. A Store does not retain
// objects.
type Store interface {
	// Get returns the digest on obj, or "".
	Get(obj metav1.Object) string
	// Set writes digest to obj, or removes the digest from obj if digest is "". Set fails, and leaves
	// obj unchanged, if the API server would refuse the key or the value. Set writes to a copy of the
	// map, because obj may share the map with another object.
	Set(obj metav1.Object, digest string) error
}

// Annotation returns a Store that uses the annotation key.
func Annotation(key string) Store {
	return annotation{key: key, problems: problemsOf(strings.ToLower(key))}
}

// Label returns a Store that uses the label key, for operators that select by digest. A label value
// has at most 63 characters: the default digest, SHA-1, RIPEMD-160 and SHA-224 fit, and the 64 hex
// digits of SHA-256 do not. Package ensure needs 6 more characters for the prefix adopt-, which
// marks an adopted object.
func Label(key string) Store { return label{key: key, problems: problemsOf(key)} }

// problemsOf returns the problems of a key. A Store calls it once, because the check costs as
// much as the digest of a small object.
func problemsOf(key string) string { return strings.Join(validation.IsQualifiedName(key), "; ") }

// DefaultStore returns the Store of a field owner: the annotation
// spec-hash.trueup-go.github.io/<fieldOwner>. Each field owner has an annotation of its own, so
// two operators that work on the same object do not overwrite each other's digest.
func DefaultStore(fieldOwner string) Store { return Annotation(canon.DigestPrefix + fieldOwner) }

type annotation struct{ key, problems string }

func (a annotation) Get(obj metav1.Object) string { return obj.GetAnnotations()[a.key] }

func (a annotation) Set(obj metav1.Object, digest string) error {
	if a.problems != "" {
		return fmt.Errorf("cannot store a digest in the annotation %q: %s", a.key, a.problems)
	}
	obj.SetAnnotations(with(obj.GetAnnotations(), a.key, digest))
	return nil
}

type label struct{ key, problems string }

func (l label) Get(obj metav1.Object) string { return obj.GetLabels()[l.key] }

func (l label) Set(obj metav1.Object, digest string) error {
	if l.problems != "" {
		return fmt.Errorf("cannot store a digest in the label %q: %s", l.key, l.problems)
	}
	if len(digest) > validation.LabelValueMaxLength {
		return fmt.Errorf(
			"cannot store a digest of %d characters in the label %q: a label value has at most %d; use another algorithm or an annotation",
			len(digest), l.key, validation.LabelValueMaxLength,
		)
	}
	if problems := validation.IsValidLabelValue(digest); len(problems) > 0 {
		return fmt.Errorf("cannot store the digest %q in the label %q: %s", digest, l.key, strings.Join(problems, "; "))
	}
	obj.SetLabels(with(obj.GetLabels(), l.key, digest))
	return nil
}

// with returns a copy of m with value at key, or without key if value is "".
func with(m map[string]string, key, value string) map[string]string {
	if m[key] == value {
		if _, there := m[key]; there == (value != "") {
			return m
		}
	}
	changed := maps.Clone(m)
	if value == "" {
		delete(changed, key)
		return changed
	}
	if changed == nil {
		changed = make(map[string]string, 1)
	}
	changed[key] = value
	return changed
}
