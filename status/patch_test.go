package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/status"
)

// stored is a status with members that Shop does not know.
const stored = `{"open":true,"secret":{"a":1},"address":{"street":"Main St","floor":2},"doors":["a","b"],"stock":{"a/b~c":"1"},
	"conditions":[
		{"type":"Theirs","status":"True","reason":"R","message":"m","lastTransitionTime":"2020-01-02T03:04:05Z","extra":1},
		{"type":"Open","status":"True","reason":"R","message":"m","lastTransitionTime":"2020-01-02T03:04:05Z","observedGeneration":2,"extra":2},
		{"type":"Old","status":"True","reason":"R","message":"m","lastTransitionTime":"2020-01-02T03:04:05Z"}]}`

// TestLiveSendsWhatMutateAssigns shows why mutate must not assign a status that was computed before.
func TestLiveSendsWhatMutateAssigns(t *testing.T) {
	for name, test := range map[string]struct {
		mutate func(shop *Shop, computed ShopStatus)
		want   []string // the doors, which another program sets meanwhile
	}{
		"the whole status": {func(shop *Shop, computed ShopStatus) { shop.Status = computed }, []string{"old"}},
		"its own field":    {func(shop *Shop, computed ShopStatus) { shop.Status.Open = computed.Open }, []string{"theirs"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(`{"open":false,"doors":["old"]}`)
			shop := s.shop(t)
			computed := shop.Status
			computed.Open = true
			s.set(`{"open":false,"doors":["theirs"]}`)

			require.NoError(t, status.Patch(t.Context(), s, shop, func(shop *Shop) { test.mutate(shop, computed) }, status.Live(s)))
			require.True(t, s.shop(t).Status.Open)
			require.Equal(t, test.want, s.shop(t).Status.Doors)
		})
	}
}

func TestPatchSendsWhatChanged(t *testing.T) {
	for _, test := range []struct {
		name   string
		status string
		mutate func(*ShopStatus)
		want   []string // beside the test of resourceVersion
		merge  string   // a merge patch in its place
	}{
		{name: "nothing", status: stored, mutate: func(*ShopStatus) {}},
		{
			name: "nothing that shows", status: stored,
			mutate: func(s *ShopStatus) { s.Conditions[0], s.Conditions[1] = s.Conditions[1], s.Conditions[0] },
		},
		{
			name: "members of all forms", status: stored,
			mutate: func(s *ShopStatus) {
				s.Open, s.Big, s.Address.Street, s.Doors = false, 1<<62+1, "", []string{"a"}
				s.Stock["a/b~c"], s.Stock["new"] = "2", "1"
			},
			want: []string{
				`{"op":"remove","path":"/status/address/street"}`,
				`{"op":"add","path":"/status/big","value":4611686018427387905}`,
				`{"op":"add","path":"/status/doors","value":["a"]}`,
				`{"op":"add","path":"/status/open","value":false}`,
				`{"op":"add","path":"/status/stock/a~1b~0c","value":"2"}`,
				`{"op":"add","path":"/status/stock/new","value":"1"}`,
			},
		},
		{
			name: "a message", status: stored,
			mutate: func(s *ShopStatus) { s.Conditions[1].Message = "new" },
			want: []string{
				`{"op":"test","path":"/status/conditions/1/type","value":"Open"}`,
				`{"op":"add","path":"/status/conditions/1/message","value":"new"}`,
			},
		},
		{
			name: "a condition changed, two gone, one new", status: stored,
			mutate: func(s *ShopStatus) {
				s.Conditions = []metav1.Condition{condition("New", "True", "R", ""), s.Conditions[1]}
				s.Conditions[1].ObservedGeneration = 3
			},
			want: []string{
				`{"op":"test","path":"/status/conditions/1/type","value":"Open"}`,
				`{"op":"add","path":"/status/conditions/1/observedGeneration","value":3}`,
				`{"op":"test","path":"/status/conditions/2/type","value":"Old"}`,
				`{"op":"remove","path":"/status/conditions/2"}`,
				`{"op":"test","path":"/status/conditions/0/type","value":"Theirs"}`,
				`{"op":"remove","path":"/status/conditions/0"}`,
				`{"op":"add","path":"/status/conditions/-","value":{"lastTransitionTime":"2020-01-02T03:04:05Z","message":"",` +
					`"observedGeneration":3,"reason":"R","status":"True","type":"New"}}`,
			},
		},
		{
			name: "the first condition", status: `{"open":true}`,
			mutate: func(s *ShopStatus) { s.Conditions = []metav1.Condition{{Type: "New"}} },
			want: []string{
				`{"op":"add","path":"/status/conditions","value":` +
					`[{"lastTransitionTime":null,"message":"","reason":"","status":"","type":"New"}]}`,
			},
		},
		{
			name: "conditions of one type", status: `{"open":true,"conditions":[{"type":"A","status":"True"},{"type":"A","status":"False"}]}`,
			mutate: func(s *ShopStatus) { s.Conditions = s.Conditions[:1] },
			want: []string{
				`{"op":"add","path":"/status/conditions","value":` +
					`[{"lastTransitionTime":null,"message":"","reason":"","status":"True","type":"A"}]}`,
			},
		},
		{
			name:   "the first status of all",
			mutate: func(s *ShopStatus) { s.Big = 1 },
			merge:  `{"metadata":{"resourceVersion":"1"},"status":{"address":{},"big":1,"depot":{},"open":false}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(test.status)
			shop := s.shop(t)
			want := shop.DeepCopyObject().(*Shop)
			test.mutate(&want.Status)
			require.NoError(t, status.Patch(t.Context(), s, shop, func(shop *Shop) { test.mutate(&shop.Status) }))

			patch := `[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}`
			for _, operation := range test.want {
				patch += "," + operation
			}
			switch {
			case test.merge != "":
				require.Empty(t, cmp.Diff([]string{test.merge}, s.patches))
			case len(test.want) == 0:
				require.Empty(t, s.patches)
				return
			default:
				require.Empty(t, cmp.Diff([]string{patch + "]"}, s.patches))
			}
			require.Empty(t, cmp.Diff(s.shop(t), shop), "the answer")
			require.Empty(t, cmp.Diff(want.Status, shop.Status, byType))
		})
	}
}

// byType compares conditions whatever their order.
var byType = cmp.Transformer("byType", func(list []metav1.Condition) map[string]metav1.Condition {
	out := map[string]metav1.Condition{}
	for _, c := range list {
		out[c.Type] = c
	}
	return out
})

func TestPatchKeepsWhatTheGoTypeDoesNotKnow(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		requests            int
	}{
		{
			name: "members", requests: 1,
			before: `{"open":true,"secret":1,"address":{"street":"a","floor":2}}`,
			after:  `{"open":true,"secret":1,"address":{"street":"b","floor":2},"big":1,"depot":{"street":"c"}}`,
		},
		{
			name: "of a status that has nothing else", requests: 1,
			before: `{"secret":1}`,
			after:  `{"secret":1,"open":false,"address":{"street":"b"},"big":1,"depot":{"street":"c"}}`,
		},
		{
			name: "of a struct that has nothing else, beside one that is absent", requests: 1,
			before: `{"open":true,"address":{"floor":2}}`,
			after:  `{"open":true,"address":{"floor":2,"street":"b"},"big":1,"depot":{"street":"c"}}`,
		},
		{
			name: "of two structs that have nothing else", requests: 1,
			before: `{"open":true,"address":{"floor":2},"depot":{"floor":3}}`,
			after:  `{"open":true,"address":{"floor":2,"street":"b"},"big":1,"depot":{"floor":3,"street":"c"}}`,
		},
		{
			name: "of both", requests: 1,
			before: `{"secret":1,"address":{"floor":2}}`,
			after:  `{"secret":1,"open":false,"address":{"floor":2,"street":"b"},"big":1,"depot":{"street":"c"}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(test.before)
			shop := s.shop(t)
			require.NoError(t, status.Patch(t.Context(), s, shop, func(shop *Shop) {
				shop.Status.Address.Street, shop.Status.Depot.Street, shop.Status.Big = "b", "c", 1
			}))
			require.Empty(t, cmp.Diff(asJSON(t, test.after), asJSON(t, s.content)))
			require.Len(t, s.patches, test.requests)
		})
	}
}

// tour is an object whose conditions hold structs.
type tour struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   ShopSpec `json:"spec"`
	Status struct {
		Conditions []stop `json:"conditions"`
	} `json:"status"`
}

type stop struct {
	Type string    `json:"type"`
	At   stopPlace `json:"at,omitempty"`
}

// stopPlace has what a Go struct writes for what is absent.
type stopPlace struct {
	Street string            `json:"street"`
	Fee    resource.Quantity `json:"fee"`
	Stay   metav1.Duration   `json:"stay"`
	Since  metav1.Time       `json:"since"`
	Seats  int               `json:"seats"`
	Open   bool              `json:"open"`
	Doors  []string          `json:"doors"`
	Inside struct {
		Rooms []string `json:"rooms"`
	} `json:"inside"`
}

func (o *tour) DeepCopyObject() runtime.Object {
	out := *o
	out.Status.Conditions = slices.Clone(o.Status.Conditions)
	return &out
}

func TestPatchKeepsWhatTheGoTypeDoesNotKnowInConditions(t *testing.T) {
	place := func(street string) string {
		return `{"street":"` + street + `","fee":"0","stay":"0s","since":null,"seats":0,"open":false,"doors":null,"inside":{"rooms":null}}`
	}
	s := newServer(`{"conditions":[{"type":"First"},{"type":"Second","at":{"floor":2}}]}`)
	found := &tour{}
	require.NoError(t, s.answer(found))
	require.NoError(t, status.Patch(t.Context(), s, found, func(o *tour) {
		o.Status.Conditions[0].At.Street, o.Status.Conditions[1].At.Street = "a", "b"
		o.Status.Conditions = append(o.Status.Conditions, stop{Type: "Third"})
	}))
	require.Empty(t, cmp.Diff(
		asJSON(t, `{"conditions":[{"type":"First","at":`+place("a")+`},{"type":"Second","at":{"floor":2,"street":"b"}},`+
			`{"type":"Third","at":`+place("")+`}]}`),
		asJSON(t, s.content)))
}

// What is changed between two of the requests is a conflict as at any other time.
func TestConflictOfThreeRequests(t *testing.T) {
	const read = `{"conditions":[{"type":"First"},{"type":"Second","at":{"floor":2}}]}`
	for late := 1; late <= 3; late++ {
		s := newServer(read)
		found := &tour{}
		require.NoError(t, s.answer(found))
		s.before = func() error {
			if len(s.patches) == late {
				s.set(`{"conditions":[{"type":"Second","at":{"floor":3}}]}`)
			}
			return nil
		}
		err := status.Patch(t.Context(), s, found, func(o *tour) { o.Status.Conditions[1].At.Street = "b" })
		require.True(t, apierrors.IsConflict(err), err)
		require.Len(t, s.patches, max(late, 2))
		require.Equal(t, `{"conditions":[{"type":"Second","at":{"floor":3}}]}`, s.content)
	}
}

// A copy from before the first write of the status is found to be outdated by one request.
func TestConflictOfTheFirstStatus(t *testing.T) {
	s := newServer("")
	shop := s.shop(t)
	s.set(`{"open":true,"conditions":[{"type":"Theirs","status":"True"}]}`)
	err := status.Patch(t.Context(), s, shop, func(shop *Shop) { shop.Status.Big = 1 })
	require.True(t, apierrors.IsConflict(err), err)
	require.Len(t, s.patches, 1)
}

// A patch that the server cannot apply to the very object that it is for is no conflict:
// another try would fail as well.
func TestUnpatchableIsNoConflict(t *testing.T) {
	unpatchable := apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", "", 0, false)
	for name, fails := range map[string]func(patches int) bool{
		"always":          func(int) bool { return true },
		"but the dry run": func(patches int) bool { return patches != 2 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(stored)
			s.before = func() error {
				if fails(len(s.patches)) {
					return unpatchable
				}
				return nil
			}
			err := status.Patch(t.Context(), s, s.shop(t), func(shop *Shop) { shop.Status.Open = false }, status.Live(s))
			require.ErrorIs(t, err, unpatchable)
			require.False(t, apierrors.IsConflict(err))
			failure, ok := errors.AsType[*status.Error](err)
			require.True(t, ok)
			require.Equal(t, "Invalid", failure.Reason)
			require.LessOrEqual(t, len(s.patches), 3)
			require.Zero(t, s.reads)
		})
	}
}

func TestPatchOfUnstructured(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{name: "no status yet", before: ``, after: `{"phase":"Open"}`},
		{name: "an empty one", before: `{}`, after: `{"phase":"Open"}`},
		{name: "one with members", before: stored, after: stored[:len(stored)-1] + `,"phase":"Open"}`},
		{name: "a list that holds no conditions", before: `{"conditions":["a"]}`, after: `{"conditions":["a"],"phase":"Open"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(test.before)
			u := s.unstructured(t)
			require.NoError(t, status.Patch(t.Context(), s, u, func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(u.Object, "Open", "status", "phase")
			}))
			require.Empty(t, cmp.Diff(asJSON(t, test.after), asJSON(t, s.content)))
			require.Equal(t, "2", u.GetResourceVersion())
			require.Len(t, s.patches, 1)
		})
	}
}

func TestConflict(t *testing.T) {
	open := func(shop *Shop) { shop.Status.Open = true }

	t.Run("is returned", func(t *testing.T) {
		s := newServer(`{"open":false,"big":1}`)
		shop := s.shop(t)
		read := shop.DeepCopyObject()
		s.set(`{"open":false,"big":2}`)

		err := status.Patch(t.Context(), s, shop, open)
		require.True(t, apierrors.IsConflict(err), err)
		require.EqualError(t, err, `cannot write the status of Shop "default/shop": Conflict: the object was changed since it was read`)
		require.Empty(t, cmp.Diff(read, runtime.Object(shop)), "as it was read")
		require.Zero(t, s.reads)
	})
	t.Run("is settled on a live read", func(t *testing.T) {
		s := newServer(`{"open":false,"big":1}`)
		shop := s.shop(t)
		set := status.For(withGeneration(2))
		s.set(`{"open":false,"big":2}`)
		tries := 0

		require.NoError(t, status.Patch(t.Context(), s, shop, func(shop *Shop) {
			tries++
			open(shop)
			set.True(&shop.Status.Conditions, "Open", "Opened", "")
		}, status.Live(s)))
		require.Equal(t, 2, tries)
		require.EqualValues(t, 2, shop.Status.Big)
		require.True(t, shop.Status.Open)
		require.EqualValues(t, 3, shop.Generation)
		require.EqualValues(t, 2, shop.Status.Conditions[0].ObservedGeneration, "that which For saw")
	})
	t.Run("does not end", func(t *testing.T) {
		s := newServer(`{"open":false,"big":1}`)
		s.before = func() error { s.version++; return nil }

		err := status.Patch(t.Context(), s, s.shop(t), open, status.Live(s))
		require.True(t, apierrors.IsConflict(err), err)
		require.Len(t, s.patches, 5)
		require.Equal(t, 4, s.reads)
	})
	t.Run("of a status that was never written", func(t *testing.T) {
		s := newServer("")
		shop := s.shop(t)
		s.set(`{"open":false}`)

		err := status.Patch(t.Context(), s, shop, open)
		require.True(t, apierrors.IsConflict(err), err)
	})
	t.Run("with what the caller removed before", func(t *testing.T) {
		s := newServer(stored)
		shop := s.shop(t)
		shop.Status.Conditions = shop.Status.Conditions[1:]

		require.NoError(t, status.Patch(t.Context(), s, shop, func(shop *Shop) { shop.Status.Conditions[0].Message = "ours" }))
		want := strings.Replace(stored, `"Open","status":"True","reason":"R","message":"m"`, `"Open","status":"True","reason":"R","message":"ours"`, 1)
		require.True(t, sameJSON(t, want, s.content), "another's condition is not overwritten: %s", s.content)
	})
	t.Run("by its own name", func(t *testing.T) {
		s := newServer("")
		s.before = func() error { return apierrors.NewConflict(schema.GroupResource{}, "shop", errors.New("secret")) }

		err := status.Patch(t.Context(), s, s.shop(t), open)
		require.True(t, apierrors.IsConflict(err), err)
		require.EqualError(t, err, `cannot write the status of Shop "default/shop": Conflict: the object was changed since it was read`)
	})
	t.Run("of the fake client", func(t *testing.T) {
		c := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Shop{}).
			WithObjects(&Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).Build()
		shop := &Shop{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "shop"}, shop))
		stale := shop.DeepCopyObject().(*Shop)
		require.NoError(t, status.Patch(t.Context(), c, shop, open))
		require.True(t, shop.Status.Open)

		again := func(shop *Shop) { shop.Status.Big = 1 }
		err := status.Patch(t.Context(), c, stale, again)
		require.True(t, apierrors.IsConflict(err), err)
		require.NoError(t, status.Patch(t.Context(), c, stale, again, status.Live(c)))
		require.True(t, stale.Status.Open)
	})
}

func TestGone(t *testing.T) {
	open := func(shop *Shop) { shop.Status.Open = true }
	replaced := func(s *server) client.Reader {
		return readerFunc(func(obj client.Object) error {
			err := s.answer(obj)
			obj.SetUID("another")
			return err
		})
	}
	going := func(s *server) client.Reader {
		return readerFunc(func(obj client.Object) error {
			err := s.answer(obj)
			obj.SetDeletionTimestamp(&longAgo)
			return err
		})
	}
	missing := func(s *server) func() error { return func() error { return s.notFound() } }
	conflict := func(*server) func() error {
		return func() error { return apierrors.NewConflict(schema.GroupResource{}, "shop", nil) }
	}
	for _, test := range []struct {
		name   string
		answer func(*server) func() error
		gone   bool
		live   func(*server) client.Reader
		want   func(error) bool // nil: no error
	}{
		{name: "to us and the reader", answer: missing, gone: true},
		{name: "and another is in its place", answer: missing, live: replaced},
		{name: "almost", answer: missing, live: going},
		{name: "says a server without this subresource", answer: missing, want: apierrors.IsNotFound},
		{name: "when read after a conflict", answer: conflict, gone: true, live: func(s *server) client.Reader { return s }},
		{name: "for another, seen after a conflict", answer: conflict, live: replaced},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer("")
			shop := s.shop(t)
			s.before, s.gone = test.answer(s), test.gone
			var opts []status.Option
			if test.live != nil {
				opts = append(opts, status.Live(test.live(s)))
			}
			err := status.Patch(t.Context(), s, shop, open, opts...)
			require.Len(t, s.patches, 1)
			if test.want == nil {
				require.NoError(t, err)
			} else {
				require.True(t, test.want(err), err)
			}
		})
	}
}

type readerFunc func(client.Object) error

func (f readerFunc) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return f(obj)
}

func (f readerFunc) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// secretive is an object that encoding/json cannot write.
type secretive struct {
	Shop

	Broken chan int `json:"broken"`
}

func (s *secretive) DeepCopyObject() runtime.Object { return &secretive{Shop: s.Shop} }

// listed is an object that is no JSON object.
type listed struct{ Shop }

func (l *listed) DeepCopyObject() runtime.Object {
	return &listed{Shop: *l.Shop.DeepCopyObject().(*Shop)}
}
func (*listed) MarshalJSON() ([]byte, error) { return []byte("[]"), nil }

// valued is an object that is no pointer.
type valued struct{ *Shop }

func TestRefusals(t *testing.T) {
	s := newServer(stored)
	for _, test := range []struct {
		name  string
		patch func(context.Context) error
		paths []string
		text  string
	}{
		{
			name: "a change of spec and labels",
			patch: func(ctx context.Context) error {
				return status.Patch(ctx, s, s.shop(t), func(shop *Shop) {
					shop.Spec.Size, shop.Labels, shop.Status.Open = 7, map[string]string{"a": "b"}, false
				})
			},
			paths: []string{"/metadata/labels", "/spec/size"},
			text: `cannot write the status of Shop "default/shop": Refused: mutate may change only the status, but it ` +
				`changed /metadata/labels, /spec/size`,
		},
		{
			name: "an object that was never read",
			patch: func(ctx context.Context) error {
				return status.Patch(ctx, s, &Shop{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, func(*Shop) {})
			},
			paths: []string{"metadata.resourceVersion"},
			text:  `cannot write the status of Shop "new": Refused: metadata.resourceVersion is empty: pass the object as it was read`,
		},
		{
			name:  "no object",
			patch: func(ctx context.Context) error { return status.Patch[*Shop](ctx, s, nil, func(*Shop) {}) },
			text:  `cannot write the status of object "": Refused: the object given to status.Patch is nil, or embeds a pointer that is nil`,
		},
		{
			name:  "an object that embeds nil",
			patch: func(ctx context.Context) error { return status.Patch(ctx, s, &valued{}, func(*valued) {}) },
			text:  `cannot write the status of object "": Refused: the object given to status.Patch is nil, or embeds a pointer that is nil`,
		},
		{
			name:  "no client",
			patch: func(ctx context.Context) error { return status.Patch(ctx, nil, s.shop(t), func(*Shop) {}) },
			text:  `cannot write the status of object "": Refused: the client given to status.Patch is nil`,
		},
		{
			name:  "a client that is nil",
			patch: func(ctx context.Context) error { return status.Patch(ctx, (*server)(nil), s.shop(t), func(*Shop) {}) },
			text:  `cannot write the status of object "": Refused: the client given to status.Patch is nil`,
		},
		{
			name:  "no mutate",
			patch: func(ctx context.Context) error { return status.Patch(ctx, s, s.shop(t), nil) },
			text:  `cannot write the status of Shop "default/shop": Refused: the function mutate given to status.Patch is nil`,
		},
		{
			name:  "no pointer",
			patch: func(ctx context.Context) error { return status.Patch(ctx, s, valued{s.shop(t)}, func(valued) {}) },
			text:  `cannot write the status of object "default/shop": Refused: the object given to status.Patch is not a pointer`,
		},
		{
			name: "what cannot be encoded",
			patch: func(ctx context.Context) error {
				return status.Patch(ctx, s, &secretive{Shop: *s.shop(t)}, func(s *secretive) { s.Status.Open = false })
			},
			text: `cannot write the status of object "default/shop": Refused: ` +
				`the object cannot be encoded as JSON: json: unsupported type: chan int`,
		},
		{
			name: "what is no object",
			patch: func(ctx context.Context) error {
				return status.Patch(ctx, s, &listed{Shop: *s.shop(t)}, func(l *listed) { l.Status.Open = false })
			},
			text: `cannot write the status of object "default/shop": Refused: ` +
				`the object is not encoded as a JSON object: json: cannot unmarshal array into Go value of type map[string]interface {}`,
		},
		{
			name: "what cannot be encoded any more",
			patch: func(ctx context.Context) error {
				u := s.unstructured(t)
				return status.Patch(ctx, s, u, func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"f": func() {}} })
			},
			text: `cannot write the status of Shop "default/shop": Refused: the object cannot be encoded as JSON: json: unsupported type: func()`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.patch(t.Context())
			require.ErrorIs(t, err, status.ErrRefused)
			require.EqualError(t, err, test.text)
			failure, ok := errors.AsType[*status.Error](err)
			require.True(t, ok)
			require.Equal(t, test.paths, failure.Paths)
			require.Equal(t, "Refused", failure.Reason)
		})
	}
	require.Empty(t, s.patches)
}

func TestErrorsTellWhatTheServerSays(t *testing.T) {
	invalid := apierrors.NewInvalid(shopGVK.GroupKind(), "shop", field.ErrorList{
		field.Invalid(field.NewPath("status", "phase"), "x", "wrong"),
		field.Invalid(field.NewPath("status", "phase"), "x", "wrong"),
		field.Required(field.NewPath("status", "open"), "wrong"),
	})
	resource := schema.GroupResource{Resource: "shops"}
	for _, test := range []struct {
		name   string
		err    error
		reason string
		detail string
	}{
		{name: "invalid", err: invalid, reason: "Invalid", detail: `status.phase: Invalid value: "x": wrong, status.open: Required value: wrong`},
		{
			name: "bad request", err: apierrors.NewBadRequest("it is no JSON"), reason: "BadRequest", detail: "it is no JSON",
		},
		{
			name: "a webhook", reason: "Invalid", detail: `admission webhook "strict" denied the request: ask us`,
			err: &apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Message: `admission webhook "strict" denied the request: ask us`}},
		},
		{
			name: "forbidden", err: apierrors.NewForbidden(resource, "shop", errors.New("ask us")), reason: "Forbidden", detail: "ask us",
		},
		{name: "broken", err: apierrors.NewInternalError(errors.New("etcd")), reason: "InternalError", detail: "Internal error occurred: etcd"},
		{
			name: "a reason made up", reason: "Unavailable", detail: "ask us",
			err: &apierrors.StatusError{ErrStatus: metav1.Status{Reason: "a sentence", Message: "ask us"}},
		},
		{
			name: "out of reach", err: &url.Error{Op: "Patch", URL: "https://secret", Err: errors.New("no route to host")},
			reason: "Unavailable", detail: "no route to host",
		},
		{name: "the network", err: fmt.Errorf("wrapped: %w", timeout{}), reason: "Unavailable", detail: "timed out"},
		{name: "cancelled", err: context.Canceled, reason: "Unavailable", detail: "it was cancelled, or took too long"},
		{
			name: "anything else", err: errors.New("no such namespace in the cache"), reason: "Unavailable",
			detail: "no such namespace in the cache",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(stored)
			s.before = func() error { return test.err }
			shop := s.shop(t)
			err := status.Patch(t.Context(), s, shop, func(shop *Shop) { shop.Status.Open = false }, status.Live(s))
			require.Len(t, s.patches, 1, "only a conflict is settled")

			want := `cannot write the status of Shop "default/shop": ` + test.reason
			if test.detail != "" {
				want += ": " + test.detail
			}
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, test.err)
			require.True(t, shop.Status.Open, "as it was read")
		})
	}
}

type timeout struct{}

func (timeout) Error() string   { return "timed out" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestReadsThatFail(t *testing.T) {
	for name, answer := range map[string]error{
		"after a conflict":  apierrors.NewConflict(schema.GroupResource{}, "shop", nil),
		"after a not found": apierrors.NewNotFound(schema.GroupResource{}, "shop"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(stored)
			shop := s.shop(t)
			s.before, s.readError = func() error { return answer }, apierrors.NewUnauthorized("who are you")
			err := status.Patch(t.Context(), s, shop, func(shop *Shop) { shop.Status.Open = false }, status.Live(s))
			require.EqualError(t, err, `cannot write the status of Shop "default/shop": Unauthorized: who are you`)
		})
	}
}

func TestOptionsReachTheRequest(t *testing.T) {
	s := newServer(stored)
	var got client.SubResourcePatchOptions
	recorded := recording{Client: s, options: &got}

	require.NoError(t, status.Patch(t.Context(), recorded, s.shop(t), func(shop *Shop) { shop.Status.Open = false },
		status.FieldOwner("shop-operator")))
	require.Equal(t, "shop-operator", got.FieldManager)
	require.False(t, consistency.IsOff(&got.PatchOptions))

	require.NoError(t, status.Patch(t.Context(), recorded, s.unstructured(t), func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{}
	}))
	require.Equal(t, consistency.IsSupported(), consistency.IsOff(&got.PatchOptions))
}

type recording struct {
	client.Client

	options *client.SubResourcePatchOptions
}

func (r recording) Status() client.SubResourceWriter {
	return recordingWriter{SubResourceWriter: r.Client.Status(), options: r.options}
}

type recordingWriter struct {
	client.SubResourceWriter

	options *client.SubResourcePatchOptions
}

func (w recordingWriter) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	*w.options = *(&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	return w.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// FuzzPatch has the library that API servers use apply the patch of a change to an
// object that has more than the writer knows: afterwards it has what the writer wanted, and
// still what nobody touched.
func FuzzPatch(f *testing.F) {
	f.Add(`{}`, `{"a":1}`)
	f.Add(stored, `{"open":false}`)
	f.Add(`{"a":{"b":null,"c":[]},"conditions":[{"type":"A"},{"type":"B","x":{"":1}}]}`, `{"a":{"b":[1]},"conditions":[{"type":"B"},{"type":"C"}]}`)
	f.Add(`{"conditions":[{"type":"A"},{"type":"A"}]}`, `{"conditions":[{"type":"A"}]}`)
	f.Add(`{"a":[]}`, `{"b":1.0}`)
	f.Add(`{"conditions":[]}`, `{"conditions":[{"type":"A"}],"~/":12345678901234567890}`)
	f.Add(`{"conditions":[{"type":"A"}]}`, `{"conditions":[{"type":"A"},{"type":"A"}]}`)
	f.Add(`{"conditions":[{"type":"A"}]}`, `{"conditions":["A"]}`)
	f.Add(`{"conditions":["A"]}`, `{"conditions":["B"]}`)
	f.Add(`{"addresses":[{"type":"A"},{"type":"B"}]}`, `{"addresses":[{"type":"B"},{"type":"A"}]}`)
	f.Add(`{"a":{"b":1},"c":[1]}`, `{"a":[1],"c":{"b":1}}`)
	f.Add(`{"a":{"b":null}}`, `{"a":{}}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		old, isObject := object(before)
		wanted, isObjectToo := object(after)
		if !isObject || !isObjectToo {
			return
		}
		s := newServer(before)
		u := s.unstructured(t)
		require.NoError(t, status.Patch(t.Context(), s, u, func(u *unstructured.Unstructured) { u.Object["status"] = wanted }))
		if reflect.DeepEqual(old, wanted) {
			require.Empty(t, s.patches)
		}
		sent, err := json.Marshal(wanted) // in which 1.0 is 1
		require.NoError(t, err)
		asSent, _ := object(string(sent))
		got, _ := object(s.content)
		require.Empty(t, cmp.Diff(unordered(asSent), unordered(got)))
		requireUnknownKept(t, old, after)
	})
}

// requireUnknownKept has a writer with a Go type make the change, as far as its type knows of it.
func requireUnknownKept(t *testing.T, old map[string]any, after string) {
	t.Helper()
	var wanted ShopStatus
	if utiljson.Unmarshal([]byte(after), &wanted) != nil {
		return
	}
	stored := maps.Clone(old)
	stored["unknown"] = map[string]any{"to": "the type"}
	content, err := json.Marshal(stored)
	require.NoError(t, err)
	s := newServer(string(content))
	shop := &Shop{}
	if s.answer(shop) != nil {
		return
	}
	require.NoError(t, status.Patch(t.Context(), s, shop, func(shop *Shop) { shop.Status = wanted }))
	got, _ := object(s.content)
	require.Empty(t, cmp.Diff(stored["unknown"], got["unknown"]))
}

func object(text string) (map[string]any, bool) {
	u := &unstructured.Unstructured{}
	err := u.UnmarshalJSON([]byte(`{"kind":"Shop","apiVersion":"example.com/v1","status":` + text + `}`))
	out, ok := u.Object["status"].(map[string]any)
	return out, err == nil && ok && len(u.Object) == 3
}

// unordered writes lists of conditions as maps.
func unordered(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for key := range out {
			out[key] = unordered(out[key])
			if list, ok := v[key].([]any); ok && key == "conditions" {
				out[key] = conditionsByType(list)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = unordered(v[i])
		}
		return out
	}
	return value
}

func conditionsByType(list []any) any {
	out := map[string]any{}
	for _, item := range list {
		c, ok := item.(map[string]any)
		name, _ := c["type"].(string)
		if !ok || name == "" || out[name] != nil {
			return unordered(list)
		}
		out[name] = unordered(item)
	}
	if len(out) == 0 {
		return list
	}
	return out
}
