package hash_test

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // nothing secret depends on the digests
	"crypto/sha256"
	"fmt"
	stdhash "hash"

	"golang.org/x/crypto/ripemd160" //nolint:staticcheck,gosec // operators have such digests stored; nothing secret depends on it
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/hash"
)

func greeting() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greeting"},
		Data:       map[string]string{"text": "hello"},
	}
}

func ExampleOf() {
	// A pod that carries this in an annotation restarts with its configuration.
	digest, err := hash.Of(greeting().Data)
	fmt.Println(digest, err)
	// Output: v1-cbbbdcd27692344de5dbab3abcaba413 <nil>
}

func ExampleObject() {
	desired := greeting()
	before, _ := hash.Object(desired)

	desired.ResourceVersion = "1047" // the server's business
	same, _ := hash.Object(desired)

	desired.Labels = map[string]string{"tone": "friendly"}
	after, _ := hash.Object(desired)

	fmt.Println(before, before == same, before == after)
	// Output: v1-badefca5b8ad1afd2c578f338d6ac409 true false
}

func ExampleDefault() {
	digest, err := hash.Default().Of("any value")
	again, _ := hash.Of("any value")
	fmt.Println(digest == again, err)
	// Output: true <nil>
}

// A RIPEMD-160 digest fits into a label, so the operator can select outdated objects.
func ExampleUsing() {
	digester := hash.Using(ripemd160.New)
	store := hash.Label("example.org/digest")

	obj := greeting()
	digest, err := digester.Object(obj)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := store.Set(obj, digest); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(obj.Labels)
	// Output: map[example.org/digest:941b71391621bb51f7db929d556ec97642dc34b4]
}

// Only the operator has the key, so nobody else can test passwords against the digest of a Secret.
func ExampleUsing_hmac() {
	key := []byte("from a Secret that only the operator can read")
	digester := hash.Using(func() stdhash.Hash { return hmac.New(sha256.New, key) })

	digest, err := digester.Object(&corev1.Secret{StringData: map[string]string{"password": "swordfish"}})
	fmt.Println(len(digest), err)
	// Output: 64 <nil>
}

// The digest of a part of an object, with an algorithm other than the default.
func ExampleDigester_Of() {
	digester := hash.Using(sha1.New)
	digest, err := digester.Of(greeting().Data)
	fmt.Println(digest, err)
	// Output: 7cc45f04c3e6f5881fc323a2d8deab132c384922 <nil>
}

// The zero Digester is the default one. The status of an object does not count.
func ExampleDigester_Object() {
	var digester hash.Digester
	digest, err := digester.Object(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}})
	same, _ := digester.Object(&corev1.Pod{
		Spec: corev1.PodSpec{NodeName: "a"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	})
	fmt.Println(digest == same, err)
	// Output: true <nil>
}

func ExampleAnnotation() {
	store := hash.Annotation("example.org/digest")
	obj := greeting()
	fmt.Println(store.Set(obj, "v1-0123"), store.Get(obj))
	fmt.Println(store.Set(obj, ""), len(obj.Annotations))
	// Output:
	// <nil> v1-0123
	// <nil> 0
}

func ExampleLabel() {
	store := hash.Label("example.org/digest")
	tooLong, _ := hash.Using(sha256.New).Of("anything")
	fmt.Println(store.Set(greeting(), tooLong))
	// Output: cannot store a digest of 64 characters in the label "example.org/digest": a label value has at most 63; use another algorithm or an annotation
}

func ExampleDefaultStore() {
	obj := greeting()
	digest, _ := hash.Object(obj)
	if err := hash.DefaultStore("shop-operator").Set(obj, digest); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(obj.Annotations)

	same, _ := hash.Object(obj) // its own digest is no part of it
	fmt.Println(same == digest)
	// Output:
	// map[spec-hash.trueup-go.github.io/shop-operator:v1-badefca5b8ad1afd2c578f338d6ac409]
	// true
}
