package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientgotesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var shopGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}

// Shop is a custom kind whose Go type does not know all that the server has.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec   `json:"spec,omitempty"`
	Status ShopStatus `json:"status,omitempty"`
}

type ShopSpec struct {
	Size int32 `json:"size,omitempty"`
}

type ShopStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Open               bool               `json:"open"`
	Big                int64              `json:"big,omitempty"`
	Address            ShopAddress        `json:"address,omitempty"`
	Depot              ShopAddress        `json:"depot,omitempty"`
	Doors              []string           `json:"doors,omitempty"`
	Stock              map[string]string  `json:"stock,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type ShopAddress struct {
	Street string `json:"street,omitempty"`
}

func (s *Shop) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Doors, out.Status.Stock = slices.Clone(s.Status.Doors), maps.Clone(s.Status.Stock)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(shopGVK.GroupVersion(), &Shop{})
	return scheme
}

// server is an API server with one Shop. It has client-go apply patches, which uses
// the library that the real one uses, and answers as that one does.
type server struct {
	client.Client

	content string
	version int
	gone    bool
	patches []string
	reads   int
	// before is called before a patch is applied, and may fail it.
	before func() error
	// readError, if any, is the answer to reads.
	readError error
}

func newServer(content string) *server {
	s := &server{content: content, version: 1}
	s.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme()).Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			s.reads++
			if s.readError != nil {
				return s.readError
			}
			return s.answer(obj)
		},
		SubResourcePatch: func(
			_ context.Context, _ client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			data, err := patch.Data(obj)
			if err != nil {
				return err
			}
			s.patches = append(s.patches, string(data))
			dryRun := len((&client.SubResourcePatchOptions{}).ApplyOptions(opts).DryRun) > 0
			return s.patch(sub, obj, patch.Type(), data, dryRun)
		},
	})
	return s
}

func (s *server) patch(sub string, obj client.Object, patchType types.PatchType, data []byte, dryRun bool) error {
	if s.before != nil {
		if err := s.before(); err != nil {
			return err
		}
	}
	if s.gone || sub != "status" {
		return s.notFound()
	}
	action := clientgotesting.NewPatchAction(schema.GroupVersionResource{}, "", "", patchType, data)
	_, patched, err := clientgotesting.ObjectReaction(tracker{server: s})(action)
	if err != nil {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	var content struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Status   json.RawMessage   `json:"status"`
	}
	if err := json.Unmarshal(patched.(*runtime.Unknown).Raw, &content); err != nil {
		return err
	}
	if content.Metadata.ResourceVersion != strconv.Itoa(s.version) {
		return apierrors.NewConflict(schema.GroupResource{Group: shopGVK.Group, Resource: "shops"}, "shop", errors.New("it was modified"))
	}
	if !dryRun { // in which nothing is changed here, so that the answer is the same
		s.set(string(content.Status))
	}
	return s.answer(obj)
}

// tracker has client-go patch the server's object.
type tracker struct {
	clientgotesting.ObjectTracker

	server *server
}

func (t tracker) Get(schema.GroupVersionResource, string, string, ...metav1.GetOptions) (runtime.Object, error) {
	return &runtime.Unknown{Raw: []byte(t.server.document())}, nil
}

func (tracker) Patch(schema.GroupVersionResource, runtime.Object, string, ...metav1.PatchOptions) error {
	return nil
}

// set makes status the object's, as some writer does.
func (s *server) set(status string) {
	s.content = status
	s.version++
}

func (s *server) document() string {
	status := ""
	if s.content != "" {
		status = `,"status":` + s.content
	}
	return `{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"namespace":"default","name":"shop","uid":"uid-of-shop",` +
		`"generation":3,"resourceVersion":"` + strconv.Itoa(s.version) + `"},"spec":{"size":2}` + status + `}`
}

// answer is decoded as clients decode it: a member of another case is another member.
func (s *server) answer(obj client.Object) error {
	if s.gone {
		return s.notFound()
	}
	return utiljson.Unmarshal([]byte(s.document()), obj)
}

func (s *server) notFound() error {
	return apierrors.NewNotFound(schema.GroupResource{Group: shopGVK.Group, Resource: "shops"}, "shop")
}

// shop is the object as it is read now.
func (s *server) shop(t testing.TB) *Shop {
	t.Helper()
	shop := &Shop{}
	require.NoError(t, s.answer(shop))
	return shop
}

func (s *server) unstructured(t testing.TB) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(s.document()), &u.Object))
	return u
}

// asJSON is text as encoding/json has it, for comparing.
func asJSON(t testing.TB, text string) any {
	t.Helper()
	var out any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	return reflect.DeepEqual(asJSON(t, a), asJSON(t, b))
}
