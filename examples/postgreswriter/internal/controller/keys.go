package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// keys converts the names of PostgresWriters to keys of rows and back. A key is namespace/name, or
// cluster/namespace/name if several clusters share the database. The parts contain no slash, so that keys
// are unique.
type keys struct {
	cluster string // empty if no other cluster uses the database
}

func (k keys) of(writer types.NamespacedName) string {
	key := writer.Namespace + "/" + writer.Name
	if k.cluster != "" {
		key = k.cluster + "/" + key
	}
	return key
}

// parse returns the PostgresWriter of a key, and false if the key belongs to another cluster or program.
func (k keys) parse(key string) (types.NamespacedName, bool) {
	if k.cluster != "" {
		var ours bool
		if key, ours = strings.CutPrefix(key, k.cluster+"/"); !ours {
			return types.NamespacedName{}, false
		}
	}
	namespace, name, _ := strings.Cut(key, "/")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// IsNamespaceOrKey reports whether text is the name of a namespace, or the key of a PostgresWriter in the cluster of
// that name.
func IsNamespaceOrKey(text, cluster string) bool {
	_, isKey := keys{cluster: cluster}.parse(text)
	return isKey || len(validation.IsDNS1123Label(text)) == 0
}
