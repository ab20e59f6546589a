package ensure_test

import (
	"context"
	"fmt"

	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// Another program applies a label that desired had, too, so that the label stays when desired drops it.
func ExampleKeptField_String() {
	ctx := context.Background()
	c := ensuretest.NewClient(clientgoscheme.Scheme)
	e := ensure.New(c, c.APIReader(), "web-operator")

	desired := webDeployment()
	desired.Labels = map[string]string{"team": "web"}
	_, err := ensure.Object(ctx, e, desired)
	fmt.Println(err)
	theirs := applyappsv1.Deployment("web", "default").WithLabels(map[string]string{"team": "web"})
	fmt.Println(c.Apply(ctx, theirs, client.FieldOwner("kustomize-controller")))

	result, err := ensure.Object(ctx, e, webDeployment())
	fmt.Println(result.Operation, result.Kept, err)

	// Output:
	// <nil>
	// <nil>
	// Updated [metadata.labels[team] (set by kustomize-controller)] <nil>
}
