package explain

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
)

// A mask reports whether the value at a path may not be shown.
type mask func(fieldpath.Path) bool

// maskOf returns the mask for obj. Of a Secret, the content and the annotations are masked: kubectl and
// other programs quote the content in annotations. Digests are shown.
func maskOf(obj *unstructured.Unstructured, opts Options) mask {
	switch {
	case opts.Mask:
		return func(path fieldpath.Path) bool { return !isDigest(path) }
	case answer.IsSensitive(obj.GroupVersionKind().GroupKind()):
		return isSecret
	}
	return func(fieldpath.Path) bool { return false }
}

// isSecret reports whether the value at path contains content of a Secret.
func isSecret(path fieldpath.Path) bool {
	switch nameAt(path, 0) {
	case "data", "stringData", "":
		return true
	case "metadata":
		return len(path) == 1 || nameAt(path, 1) == "annotations" && !isDigest(path)
	}
	return false
}

// isDigest reports whether path is the annotation with a digest of trueup.
func isDigest(path fieldpath.Path) bool {
	return len(path) == 3 && nameAt(path, 0) == "metadata" && nameAt(path, 1) == "annotations" &&
		strings.HasPrefix(nameAt(path, 2), canon.DigestPrefix)
}

// nameAt returns the name of the field at a step of path, or "".
func nameAt(path fieldpath.Path, step int) string {
	if step >= len(path) || path[step].FieldName == nil {
		return ""
	}
	return *path[step].FieldName
}
