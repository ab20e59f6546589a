package predicates_test

import (
	"context"
	"flag"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

var (
	shared *cluster.Cluster
	scheme = runtime.NewScheme()
	admin  client.Client // may do everything
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // the kinds wait for most of their time
		panic(err)
	}
	log.SetLogger(logr.Discard())
	// Claims are bound every 15 s by default, which the test of them would wait for.
	os.Exit(cluster.Main(m, &shared, cluster.Flags("kube-controller-manager", "--pvclaimbinder-sync-period=200ms")))
}

var group = schema.GroupVersion{Group: "predicates.trueup-go.github.io", Version: "v1"}

// prepare creates the resources that all tests share: a client, two custom kinds, of which only
// Widget has a status subresource, and a storage class whose claims may grow.
var prepare = sync.OnceValue(func() error {
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	admin = c
	widget, trinket := customKind("Widget", "widgets"), customKind("Trinket", "trinkets")
	widget.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
		Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
	}
	ctx := context.Background()
	if err := cluster.Define(ctx, admin, widget, trinket); err != nil {
		return err
	}
	return admin.Create(ctx, &storagev1.StorageClass{
		ObjectMeta: named(storageClass), Provisioner: "kubernetes.io/no-provisioner", AllowVolumeExpansion: new(true),
	})
})

func customKind(kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: group.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// custom is an object of one of the custom kinds.
func custom(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	u.SetGroupVersionKind(group.WithKind(kind))
	u.SetName(name)
	return u
}
