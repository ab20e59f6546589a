package ensure_test

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/ensure"
)

// credentials has another password each time.
func credentials(user string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "credentials"},
		Data:       map[string][]byte{"user": []byte(user), "password": []byte(rand.Text())},
	}
}

// Each reconcile generates another password, and only the first password is used.
func ExampleOnce() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithReturnManagedFields().Build()
	e := ensure.New(c, c, "database-operator")
	once := ensure.Once("data[password]")

	result, err := ensure.Object(ctx, e, credentials("app"), once)
	fmt.Println(result.Operation, err)
	first := string(result.Live.Data["password"])

	result, err = ensure.Object(ctx, e, credentials("app"), once)
	fmt.Println(result.Operation, err)

	result, err = ensure.Object(ctx, e, credentials("owner"), once)
	fmt.Println(result.Operation, result.Cause, err)
	fmt.Println(string(result.Live.Data["user"]), string(result.Live.Data["password"]) == first)

	// Output:
	// Created <nil>
	// Unchanged <nil>
	// Updated DesiredChanged <nil>
	// owner true
}
