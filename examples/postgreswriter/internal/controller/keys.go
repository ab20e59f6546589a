package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// keys tell PostgresWriters and rows apart: namespace/name, and before that the cluster's
// name if several clusters share the database. No part can hold a slash, so no two are alike.
type keys struct {
	cluster string // empty if the database is this cluster's alone
}

func (k keys) of(writer types.NamespacedName) string {
	key := writer.Namespace + "/" + writer.Name
	if k.cluster != "" {
		key = k.cluster + "/" + key
	}
	return key
}

// parse returns the owner of a row, if the key can belong to this cluster.
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
