package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const createOnly = "4611686018427387904"

// An apiServer is controller-runtime's fake client made to answer as kube-apiserver
// does where ensure depends on it: objects have UIDs, resourceVersions move only
// with a change, a create-only apply meets an object with a 409, and an apply that
// names the wrong UID goes nowhere. It is the client that tests hand to ensure.
type apiServer struct {
	client.WithWatch

	before  func(verb string)         // runs before a request is looked at
	answers []error                   // given to the next writes instead of doing them; nil does it
	admit   func(body map[string]any) // a mutating webhook

	mu       sync.Mutex
	fake     client.WithWatch
	known    map[objectID]identity
	issued   uint64
	requests []request
}

type objectID struct {
	gvk schema.GroupVersionKind
	key types.NamespacedName
}

type identity struct {
	uid     types.UID
	version string
}

// A request is one that reached the server from the client under test.
type request struct {
	verb    string // get, create (an apply that only creates), apply, trial (a patch that is not stored), or another verb
	body    map[string]any
	options client.PatchOptions
	removal client.DeleteOptions
}

// newServer has these objects, and the owner of tests.
func newServer(objects ...client.Object) *apiServer {
	s := &apiServer{known: map[objectID]identity{}}
	if !slices.ContainsFunc(objects, func(obj client.Object) bool { _, ok := obj.(*Shop); return ok }) {
		objects = append(slices.Clone(objects), shop())
	}
	seeds := make([]client.Object, 0, len(objects))
	for _, obj := range objects {
		seed, _ := obj.DeepCopyObject().(client.Object)
		seeds = append(seeds, seed)
	}
	s.fake = fake.NewClientBuilder().
		WithScheme(newScheme()).
		WithRESTMapper(newRESTMapper()).
		WithReturnManagedFields().
		WithStatusSubresource(&Shop{}).
		WithObjects(seeds...).
		Build()
	for _, seed := range seeds {
		s.identify(seed)
	}
	s.WithWatch = interceptor.NewClient(s.fake, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			s.arrive(request{verb: "get"})
			return s.peek(ctx, key, obj)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			s.arrive(request{verb: "list"})
			return s.peekAll(ctx, list, opts...)
		},
		Patch: func(ctx context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return s.patch(ctx, obj, patch, opts...)
		},
		Create: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.CreateOption) error {
			if options := (&client.CreateOptions{}).ApplyOptions(opts); !slices.Equal(options.DryRun, []string{metav1.DryRunAll}) {
				return s.unexpected("create")
			}
			s.arrive(request{verb: "dry run"})
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.answer()
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return s.unexpected("update")
		},
		Delete: func(ctx context.Context, _ client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return s.delete(ctx, obj, *(&client.DeleteOptions{}).ApplyOptions(opts))
		},
	})
	return s
}

// unexpected is for what ensure never sends.
func (s *apiServer) unexpected(verb string) error {
	s.arrive(request{verb: "unexpected " + verb})
	return errors.New("unexpected " + verb)
}

func (s *apiServer) arrive(r request) {
	if s.before != nil {
		s.before(r.verb)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// take returns the requests since the last call.
func (s *apiServer) take() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.requests
	s.requests = nil
	return taken
}

// verbs returns what was asked of the server since the last call of it or of take.
func (s *apiServer) verbs() []string {
	verbs := []string{}
	for _, r := range s.take() {
		verbs = append(verbs, r.verb)
	}
	return verbs
}

// peek reads without counting as a request.
func (s *apiServer) peek(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fake.Get(ctx, key, obj); err != nil {
		return err
	}
	s.identify(obj)
	return nil
}

// peekAll lists without counting as a request.
func (s *apiServer) peekAll(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fake.List(ctx, list, opts...); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		obj, _ := item.(client.Object)
		s.identify(obj)
		return nil
	})
}

func (s *apiServer) patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	r := request{verb: "patch " + string(patch.Type()), body: map[string]any{}}
	if r.options.ApplyOptions(opts); len(r.options.DryRun) > 0 {
		r.verb = "trial"
	}
	if patch.Type() == types.ApplyPatchType {
		r.verb = "apply"
		if err := json.Unmarshal(data, &r.body); err != nil {
			return fmt.Errorf("the body is no JSON: %w", err)
		}
		if metadata(r.body)["resourceVersion"] == createOnly {
			r.verb = "create"
		}
	}
	asksForFields := r.options.FieldManager == "before-first-apply"
	if asksForFields {
		r.verb = "fields"
	}
	s.arrive(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !asksForFields {
		if err := s.answer(); err != nil {
			return err
		}
	}
	if patch.Type() == types.JSONPatchType {
		if data, err = s.test(obj, data); err != nil {
			return err
		}
		patch = client.RawPatch(types.JSONPatchType, data)
	}
	if len(r.options.DryRun) > 0 {
		return s.pretend(ctx, obj, patch, data, client.FieldOwner(r.options.FieldManager))
	}
	if patch.Type() == types.ApplyPatchType {
		return s.apply(ctx, obj, data, opts...)
	}
	return s.commit(ctx, obj, func() error { return s.fake.Patch(ctx, obj, patch, opts...) })
}

// test carries out a JSON patch's tests, as the fake client has no UIDs and answers a failed
// one with a plain error, and returns the rest of the patch.
func (s *apiServer) test(obj client.Object, patch []byte) ([]byte, error) {
	var operations []map[string]any
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, err
	}
	stored, _ := obj.DeepCopyObject().(client.Object)
	if err := s.fake.Get(context.Background(), client.ObjectKeyFromObject(obj), stored); err != nil {
		return nil, err
	}
	s.identify(stored)
	text, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	var live any
	if err := json.Unmarshal(text, &live); err != nil {
		return nil, err
	}
	for _, operation := range operations {
		path, _ := operation["path"].(string)
		if operation["op"] == "test" && !reflect.DeepEqual(operation["value"], at(live, path)) {
			return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil) // a failed test is a 422 without causes
		}
	}
	return json.Marshal(slices.DeleteFunc(operations, func(operation map[string]any) bool { return operation["op"] == "test" }))
}

// at is what a JSON pointer leads to.
func at(value any, pointer string) any {
	for _, step := range strings.Split(pointer, "/")[1:] {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(parent) {
				return nil
			}
			value = parent[i]
		default:
			return nil
		}
	}
	return value
}

// answer is the next given one; the lock is held.
func (s *apiServer) answer() error {
	if len(s.answers) == 0 {
		return nil
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer
}

func (s *apiServer) apply(ctx context.Context, obj client.Object, data []byte, opts ...client.PatchOption) error {
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	id := s.id(obj)
	live, exists := s.known[id]
	uid, version := metadata(body)["uid"], metadata(body)["resourceVersion"]
	switch {
	case version == createOnly && exists, uid != nil && !exists:
		return apierrors.NewConflict(schema.GroupResource{Group: id.gvk.Group, Resource: id.gvk.Kind}, id.key.Name, errors.New("it moved"))
	case uid != nil && uid != string(live.uid):
		return apierrors.NewInvalid(id.gvk.GroupKind(), id.key.Name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	delete(metadata(body), "uid")
	delete(metadata(body), "resourceVersion")
	if s.admit != nil {
		s.admit(body)
	}
	admitted, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.commit(ctx, obj, func() error {
		return s.fake.Patch(ctx, obj, client.RawPatch(types.ApplyPatchType, admitted), opts...)
	})
}

// pretend answers as a dry run does: with what would be there, which has no resourceVersion.
func (s *apiServer) pretend(ctx context.Context, obj client.Object, patch client.Patch, body []byte, owner client.FieldOwner) error {
	if patch.Type() == types.JSONPatchType {
		live, _ := obj.DeepCopyObject().(client.Object)
		if err := s.fake.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
			return err
		}
		copied := fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(newRESTMapper()).WithObjects(live).Build()
		if err := copied.Patch(ctx, obj, patch); err != nil {
			return err
		}
		obj.SetUID(s.known[s.id(obj)].uid)
		obj.SetResourceVersion("")
		return nil
	}
	builder := fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(newRESTMapper()).WithReturnManagedFields()
	if live, ok := obj.DeepCopyObject().(client.Object); ok && s.fake.Get(ctx, client.ObjectKeyFromObject(obj), live) == nil {
		builder.WithObjects(live)
	}
	var desired map[string]any
	if err := json.Unmarshal(body, &desired); err != nil {
		return err
	}
	delete(metadata(desired), "uid")
	delete(metadata(desired), "resourceVersion")
	body, err := json.Marshal(desired)
	if err != nil {
		return err
	}
	if err := builder.Build().Patch(ctx, obj, client.RawPatch(types.ApplyPatchType, body), client.ForceOwnership, owner); err != nil {
		return err
	}
	if owner == "before-first-apply" {
		obj.SetManagedFields(nil) // nothing shows what nobody owns
	}
	obj.SetUID(s.known[s.id(obj)].uid)
	obj.SetResourceVersion("")
	return nil
}

// commit does a write; the resourceVersion moves if it changed something.
func (s *apiServer) commit(ctx context.Context, obj client.Object, write func() error) error {
	previous, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(obj).Elem()))
	previous.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	existed := s.fake.Get(ctx, client.ObjectKeyFromObject(obj), previous) == nil
	before := previous.DeepCopyObject()
	if err := write(); err != nil {
		return err
	}
	if apierrors.IsNotFound(s.fake.Get(ctx, client.ObjectKeyFromObject(obj), previous)) { // the last finalizer went
		delete(s.known, s.id(obj))
		return nil
	}
	if existed && !sameContent(before, obj) {
		s.issued++
		s.known[s.id(obj)] = identity{uid: s.known[s.id(obj)].uid, version: strconv.FormatUint(s.issued, 10)}
	}
	s.identify(obj)
	return nil
}

func sameContent(a, b runtime.Object) bool {
	var encoded [2][]byte
	for i, obj := range []runtime.Object{a, b} {
		plain, _ := obj.DeepCopyObject().(client.Object)
		plain.SetResourceVersion("")
		entries := plain.GetManagedFields()
		for j := range entries {
			entries[j].Time = nil
		}
		plain.SetManagedFields(entries)
		encoded[i], _ = json.Marshal(plain)
	}
	return bytes.Equal(encoded[0], encoded[1])
}

// identify gives obj the UID and the resourceVersion that it has here.
func (s *apiServer) identify(obj client.Object) {
	id := s.id(obj)
	if _, ok := s.known[id]; !ok {
		s.issued++
		uid := obj.GetUID()
		if uid == "" {
			uid = types.UID("uid-" + strconv.FormatUint(s.issued, 10))
		}
		s.known[id] = identity{uid: uid, version: strconv.FormatUint(s.issued, 10)}
	}
	obj.SetUID(s.known[id].uid)
	obj.SetResourceVersion(s.known[id].version)
}

func (s *apiServer) id(obj client.Object) objectID {
	gvk, _ := s.fake.GroupVersionKindFor(obj)
	return objectID{gvk: gvk, key: client.ObjectKeyFromObject(obj)}
}

// live returns obj as the server has it.
func live[T client.Object](t *testing.T, s *apiServer, obj T) T {
	t.Helper()
	out, _ := obj.DeepCopyObject().(T)
	require.NoError(t, s.peek(t.Context(), client.ObjectKeyFromObject(obj), out))
	return out
}

// edit is a merge patch by another writer.
func (s *apiServer) edit(t *testing.T, obj client.Object, patch string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out, _ := obj.DeepCopyObject().(client.Object)
	require.NoError(t, s.commit(t.Context(), out, func() error {
		return s.fake.Patch(t.Context(), out, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl-edit"))
	}))
}

// remove deletes obj by another's hand; it stays, going, if it has finalizers.
func (s *apiServer) remove(t *testing.T, obj client.Object) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NoError(t, s.erase(t.Context(), obj))
}

// erase deletes obj; the lock is held.
func (s *apiServer) erase(ctx context.Context, obj client.Object) error {
	out, _ := obj.DeepCopyObject().(client.Object)
	out.SetResourceVersion("")
	out.SetUID("")
	if err := s.fake.Delete(ctx, out); err != nil {
		return err
	}
	if apierrors.IsNotFound(s.fake.Get(ctx, client.ObjectKeyFromObject(obj), out)) {
		delete(s.known, s.id(obj))
		return nil
	}
	s.issued++
	s.known[s.id(obj)] = identity{uid: s.known[s.id(obj)].uid, version: strconv.FormatUint(s.issued, 10)}
	return nil
}

// delete is by the client under test.
func (s *apiServer) delete(ctx context.Context, obj client.Object, options client.DeleteOptions) error {
	s.arrive(request{verb: "delete", removal: options})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answer(); err != nil {
		return err
	}
	if len(options.DryRun) > 0 {
		return nil
	}
	id := s.id(obj)
	resource := schema.GroupResource{Group: id.gvk.Group, Resource: id.gvk.Kind}
	live, exists := s.known[id]
	if !exists {
		return apierrors.NewNotFound(resource, id.key.Name)
	}
	if seen := options.Preconditions; seen != nil && (*seen.UID != live.uid || *seen.ResourceVersion != live.version) {
		return apierrors.NewConflict(resource, id.key.Name, errors.New("the precondition failed"))
	}
	return s.erase(ctx, obj)
}

func metadata(body map[string]any) map[string]any {
	m, _ := body["metadata"].(map[string]any)
	return m
}
