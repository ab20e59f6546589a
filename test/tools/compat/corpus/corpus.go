// Package corpus holds desired states as operators' authors write them, difficult ones included, of
// every group of k8s.io/api.
//
// It is built against every tested version of k8s.io/api, and may therefore only use features of
// the oldest. Later features are in since32.go and the like; for older versions, the build tag
// before32 selects an empty list from before32.go instead. Alpha versions of an API come and go,
// and would break the build: the fixtures of package digests cover them.
package corpus

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Entry is a value to compute the digest of.
type Entry struct {
	// Name begins with the minor version since which the value can be written.
	Name  string
	Value any
}

// All returns the whole corpus, made afresh.
func All() []Entry {
	return slices.Concat(
		since("v0.30", slices.Concat(
			workloads(), pods(), config(), core(), storage(), network(), access(), admission(), autoscalers(), cluster(), reviews(),
			old(), metadata(), values(), custom(), untyped(),
		)),
		since("v0.32", since32()),
		since("v0.34", since34()),
		since("v0.35", since35()),
		since("v0.36", since36()),
		since("v0.37", since37()),
	)
}

func since(minor string, entries []Entry) []Entry {
	for i := range entries {
		entries[i].Name = minor + "/" + entries[i].Name
	}
	return entries
}

func labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "shop",
		"app.kubernetes.io/instance":   "shop-eu",
		"app.kubernetes.io/managed-by": "application-operator",
	}
}

func selector() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: labels()} }

// named is the metadata of an object in a namespace.
func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels()}
}

// global is the metadata of a cluster's object.
func global(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: labels()}
}
