package ensure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

func TestObjectRefusesWhatItCannotKeep(t *testing.T) {
	owned := []ensure.Option{ensure.ControlledBy(shop())}
	cases := map[string]struct {
		reason  string
		desired client.Object
		opts    []ensure.Option
		paths   []string
		text    string
	}{
		"nil":         {"there is nothing to ensure", nil, nil, nil, "desired is nil"},
		"nil pointer": {"there is nothing to ensure", (*corev1.ConfigMap)(nil), nil, nil, "desired is nil"},
		"no name": {
			"the object could not be addressed", with(configMap(), func(o *corev1.ConfigMap) { o.Name = "" }),
			nil,
			[]string{"metadata.name"},
			"metadata.name is required",
		},
		"generateName": {
			"it could not be found again", with(configMap(), func(o *corev1.ConfigMap) { o.Name, o.GenerateName = "", "settings-" }),
			nil,
			[]string{"metadata.generateName"},
			"cannot be ensured",
		},
		"generateName beside a name": {
			"it says that the caller wants something else", with(configMap(), func(o *corev1.ConfigMap) { o.GenerateName = "settings-" }),
			nil,
			[]string{"metadata.generateName"},
			"cannot be ensured",
		},
		"resourceVersion": {
			"a copy of a live object", with(configMap(), func(o *corev1.ConfigMap) { o.ResourceVersion = "1" }),
			nil,
			[]string{"metadata.resourceVersion"},
			"build desired anew",
		},
		"uid": {
			"a copy of a live object", with(configMap(), func(o *corev1.ConfigMap) { o.UID = "1" }),
			nil,
			[]string{"metadata.uid"},
			"build desired anew",
		},
		"managedFields": {
			"a copy of a live object",
			with(configMap(), func(o *corev1.ConfigMap) { o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}} }),
			nil,
			[]string{"metadata.managedFields"},
			"build desired anew",
		},
		"status": {
			"status belongs to whoever observes", with(service(), func(o *corev1.Service) {
				o.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
			}),
			nil,
			[]string{"status"},
			"leave it out",
		},
		"status of a custom kind": {
			"found without generated types", with(childShop(), func(o *Shop) { o.Status.Open = true }),
			nil,
			[]string{"status"},
			"leave it out",
		},
		"unstructured status": {
			"found in content too", with(unstructuredConfigMap(), func(o *unstructured.Unstructured) {
				o.Object["status"] = map[string]any{"open": true}
			}),
			nil,
			[]string{"status"},
			"leave it out",
		},
		"unstructured status that is no object": {
			"a number is a status too", with(unstructuredConfigMap(), func(o *unstructured.Unstructured) { o.Object["status"] = int64(1) }),
			nil,
			[]string{"status"},
			"leave it out",
		},
		"no namespace": {
			"nobody says where", with(configMap(), func(o *corev1.ConfigMap) { o.Namespace = "" }),
			nil,
			[]string{"metadata.namespace"},
			"is required",
		},
		"no namespace, cluster-scoped owner": {
			"the owner has none to give", with(configMap(), func(o *corev1.ConfigMap) { o.Namespace = "" }),
			[]ensure.Option{ensure.ControlledBy(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant", UID: "1"}})},
			[]string{"metadata.namespace"},
			"is required",
		},
		"namespace of a cluster-scoped kind": {
			"it would be looked for where it is not", with(namespace(), func(o *corev1.Namespace) { o.Namespace = "default" }),
			nil,
			[]string{"metadata.namespace"},
			"must be empty",
		},
		"owner in another namespace": {
			"the garbage collector would delete the child", with(configMap(), func(o *corev1.ConfigMap) { o.Namespace = "other" }),
			owned,
			[]string{"metadata.namespace"},
			`the owner's, "default"`,
		},
		"nil owner": {
			"nothing to control it", configMap(),
			[]ensure.Option{ensure.ControlledBy(nil)},
			nil, "the owner given to ensure.ControlledBy is nil",
		},
		"nil pointer as owner": {
			"nothing to control it", configMap(),
			[]ensure.Option{ensure.ControlledBy((*Shop)(nil))},
			nil, "the owner given to ensure.ControlledBy is nil",
		},
		"owner never created": {
			"neither UID nor resourceVersion", configMap(),
			[]ensure.Option{ensure.ControlledBy(&Shop{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}})},
			nil, `the owner "default/shop" was never created`,
		},
		"namespaced owner of a cluster-scoped child": {
			"the garbage collector would delete the child", namespace(),
			owned, nil, `the owner "default/shop" is namespaced`,
		},
		"another controller in desired": {
			"two controllers are one too many", with(configMap(), func(o *corev1.ConfigMap) {
				o.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "ConfigMap", Name: "boss", UID: "2", Controller: new(true),
				}}
			}),
			owned,
			[]string{"metadata.ownerReferences"},
			`another controller, ConfigMap "boss"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			result, err := ensure.Object(t.Context(), newEnsurer(s), tc.desired, tc.opts...)

			require.ErrorIs(t, err, ensure.ErrRefused, tc.reason)
			require.Zero(t, result)
			var refusal *ensure.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, "ensure", refusal.Operation)
			require.Equal(t, "Refused", refusal.Reason)
			require.Empty(t, cmp.Diff(tc.paths, refusal.Paths))
			require.ErrorContains(t, err, tc.text)
			require.Empty(t, s.verbs(), "nothing may be sent")
		})
	}
}

// Found while the body is written, so after the read.
func TestObjectRefusesAKeyThatIsThereTwice(t *testing.T) {
	s := newServer()
	desired := service()
	desired.Spec.Ports = append(desired.Spec.Ports, corev1.ServicePort{Name: "again", Port: 80, Protocol: corev1.ProtocolTCP})
	_, err := ensure.Object(t.Context(), newEnsurer(s), desired)

	require.ErrorIs(t, err, ensure.ErrRefused, "a create would take it, no apply ever after")
	var refusal *ensure.Error
	require.ErrorAs(t, err, &refusal)
	require.Empty(t, cmp.Diff([]string{"spec.ports[port=80,protocol=TCP]"}, refusal.Paths))
	require.ErrorContains(t, err, "spec.ports[port=80,protocol=TCP] occurs twice")
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
}

func TestObjectRefusesWhatHasNoEncoding(t *testing.T) {
	s := newServer()
	desired := unstructuredConfigMap()
	desired.Object["data"] = map[string]any{"color": make(chan int)}
	_, err := ensure.Object(t.Context(), newEnsurer(s), desired)

	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "[data][color]", "the place is named")
	var refusal *ensure.Error
	require.ErrorAs(t, err, &refusal)
	require.Error(t, refusal.Unwrap())
	require.Empty(t, s.verbs())
}

// YAML's true and 1 are common mistakes. They must not cost the other entries, as
// they do where apimachinery's accessors meet them.
func TestObjectRefusesUnstructuredMetadataThatItCannotRead(t *testing.T) {
	cases := map[string]struct {
		member, path string
		value        any
		settings     []ensure.Setting
		opts         []ensure.Option
	}{
		"annotations":             {"annotations", "metadata.annotations", map[string]any{"note": "x", "scrape": true}, nil, nil},
		"labels to be added to":   {"labels", "metadata.labels", map[string]any{"app": "shop", "tier": int64(1)}, withTeam(), nil},
		"owners to be added to":   {"ownerReferences", "metadata.ownerReferences", []any{"shop"}, nil, ownedByShop()},
		"annotations of no shape": {"annotations", "metadata.annotations", "none", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			desired := unstructuredConfigMap()
			metadata(desired.Object)[tc.member] = tc.value
			_, err := ensure.Object(t.Context(), newEnsurer(s, tc.settings...), desired, tc.opts...)
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.ErrorContains(t, err, tc.path)
			require.Empty(t, s.verbs())
		})
	}
}

func withTeam() []ensure.Setting {
	return []ensure.Setting{ensure.WithLabels(map[string]string{"team": "shops"})}
}

func ownedByShop() []ensure.Option { return []ensure.Option{ensure.ControlledBy(shop())} }

func with[T client.Object](obj T, change func(T)) T {
	change(obj)
	return obj
}

func TestObjectTakesAnEmptyStatus(t *testing.T) {
	for name, status := range map[string]any{
		"none":         nil,
		"an empty one": map[string]any{},
		"of a Service": map[string]any{"loadBalancer": map[string]any{}},
		"of a budget":  map[string]any{"currentHealthy": int64(0), "disruptionsAllowed": 0.0, "conditions": []any{}, "ready": false, "phase": ""},
	} {
		desired := unstructuredConfigMap()
		desired.Object["status"] = status
		require.Equal(t, ensure.Created, mustEnsure(t, newEnsurer(newServer()), desired).Operation,
			"%s: what encoding a typed object leaves behind is no status", name)
	}
}

func TestObjectMakesNothingForAnOwnerThatIsGoing(t *testing.T) {
	s := newServer()
	owner := shop()
	owner.DeletionTimestamp = new(metav1.Now())
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap(), ensure.ControlledBy(owner))

	require.ErrorIs(t, err, ensure.ErrOwnerTerminating)
	require.NotErrorIs(t, err, ensure.ErrTerminating)
	require.ErrorContains(t, err, `cannot ensure ConfigMap "default/settings": OwnerTerminating: the owner "default/shop" is being deleted`)
	require.Empty(t, s.verbs())
}

// A child that was there before is made again only if the API server still has the owner.
func TestObjectAsksForTheOwnerOfWhatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*apiServer)
		reader func(*apiServer) client.Reader
		says   string // empty: the child is made again
	}{
		"there": {},
		"gone":  {change: func(s *apiServer) { s.remove(t, shop()) }, says: "is gone"},
		"replaced": {change: func(s *apiServer) {
			s.remove(t, shop())
			s.createOld(t, with(shop(), func(o *Shop) { o.UID, o.ResourceVersion = "", "" }))
		}, says: "was replaced"},
		"going": {change: func(s *apiServer) {
			s.edit(t, shop(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
			s.remove(t, shop())
		}, says: "is being deleted"},
		"not to be read": {reader: func(s *apiServer) client.Reader { return failingReads(s, status(403, metav1.StatusReasonForbidden)) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			reader := client.Reader(s)
			if tc.reader != nil {
				reader = tc.reader(s)
			}
			e := ensure.New(s, reader, fieldOwner)
			mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()))
			require.Equal(t, []string{"get", "create"}, s.verbs(), "the first time, nobody asks")
			mustEnsure(t, e, configMap(), ensure.ControlledBy(shop())) // the cache shows it
			s.take()
			s.remove(t, configMap())
			if tc.change != nil {
				tc.change(s)
			}

			_, err := ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(shop()))
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ensure.ErrOwnerTerminating)
			require.ErrorContains(t, err, `cannot create ConfigMap "default/settings": OwnerTerminating: the owner "default/shop" `+tc.says)
			require.Equal(t, []string{"get", "get"}, s.verbs())
		})
	}
}

// The operator deleted the child itself: the owner's deletion cannot be the reason.
func TestObjectAfterAbsentDoesNotAskForTheOwner(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()))
	mustEnsure(t, e, configMap(), ensure.ControlledBy(shop())) // the cache shows it
	_, err := ensure.Absent(t.Context(), e, configMap(), ensure.ControlledBy(shop()))
	require.NoError(t, err)
	s.take()
	mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()))
	require.Equal(t, []string{"get", "create"}, s.verbs())
}

func TestObjectOfATypeInNoScheme(t *testing.T) {
	type unknown struct{ corev1.ConfigMap }
	s := newServer()
	desired := &unknown{*configMap()}
	_, err := ensure.Object(t.Context(), newEnsurer(s), client.Object(desired))

	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	require.Empty(t, failed.Kind)
	require.True(t, runtime.IsNotRegisteredError(failed.Unwrap()), "%v", failed.Unwrap())
	require.ErrorContains(t, err, `cannot ensure object "default/settings"`)
	require.ErrorContains(t, err, "no kind is registered for the type ensure_test.unknown", "only the type tells what to register")
	require.Empty(t, s.verbs())
}

func TestObjectOfNoKind(t *testing.T) {
	cases := map[string]client.Object{
		"unstructured without kind":       with(unstructuredConfigMap(), func(o *unstructured.Unstructured) { delete(o.Object, "kind") }),
		"unstructured without a version":  with(unstructuredConfigMap(), func(o *unstructured.Unstructured) { o.SetAPIVersion("") }),
		"empty unstructured":              with(&unstructured.Unstructured{}, func(o *unstructured.Unstructured) { o.SetName("x") }),
		"metadata alone without TypeMeta": &metav1.PartialObjectMetadata{ObjectMeta: partialConfigMap().ObjectMeta},
	}
	for name, desired := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			_, err := ensure.Object(t.Context(), newEnsurer(s), desired)
			var failed *ensure.Error
			require.ErrorAs(t, err, &failed)
			require.Regexp(t, "(?i)kind|version", failed.Error()[len("cannot ensure"):], "the text has to say what is missing")
			require.Error(t, failed.Unwrap())
			require.Empty(t, s.verbs())
		})
	}
}

func TestObjectOfAKindThatTheClusterHasNot(t *testing.T) {
	s := newServer()
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Ghost"}, SearchedVersions: []string{"v1"}}
	desired := unstructuredConfigMap()
	desired.SetAPIVersion("example.com/v1")
	desired.SetKind("Ghost")
	_, err := ensure.Object(t.Context(), ensure.New(failingReads(s, missing), s, fieldOwner), desired)

	require.ErrorIs(t, err, ensure.ErrAPI, "its CRD may come")
	require.EqualError(t, err, `cannot read Ghost "default/settings": Unavailable: no matches for kind "Ghost" in version "example.com/v1"`)
	require.Empty(t, s.verbs())
}

func TestObjectDoesNotPanic(t *testing.T) {
	var (
		noOption  ensure.Option
		noSetting ensure.Setting
	)
	cases := map[string]func() error{
		"no Ensurer": func() error {
			_, err := ensure.Object(t.Context(), nil, configMap())
			return err
		},
		"an Ensurer not made by New": func() error {
			_, err := ensure.Object(t.Context(), &ensure.Ensurer{}, configMap())
			return err
		},
		"nil Option": func() error {
			_, err := ensure.Object(t.Context(), newEnsurer(newServer()), configMap(), noOption)
			return err
		},
		"nil Setting": func() error {
			_, err := ensure.Object(t.Context(), newEnsurer(newServer(), noSetting), configMap())
			return err
		},
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			var err error
			require.NotPanics(t, func() { err = call() })
			require.ErrorIs(t, err, ensure.ErrRefused)
		})
	}
}

func TestObjectWithAnOwnerOfNoKind(t *testing.T) {
	type unknown struct{ corev1.ConfigMap }
	owner := &unknown{*configMap()}
	owner.UID = "1"
	s := newServer()
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap(), ensure.ControlledBy(owner))
	require.ErrorContains(t, err, "no kind is registered for the type ensure_test.unknown")
	require.Empty(t, s.verbs())
}

// discovering fails to learn which kinds the cluster has.
type discovering struct {
	client.Client
	err error
}

func (d discovering) IsObjectNamespaced(runtime.Object) (bool, error) { return false, d.err }

func TestObjectWhenDiscoveryFails(t *testing.T) {
	s := newServer()
	tc := answerCases()["no connection"]
	c := discovering{Client: s, err: tc.answer}
	_, err := ensure.Object(t.Context(), ensure.New(c, s, fieldOwner), configMap())
	checkAnswer(t, tc, "ensure", err)
	require.Empty(t, s.verbs())
}

// hand has its metadata behind a pointer, and makes it when it is needed.
type hand struct {
	metav1.TypeMeta
	*metav1.ObjectMeta
}

func (h *hand) DeepCopyObject() runtime.Object { return h }
func (h *hand) GetName() string                { return h.metadata().Name }
func (h *hand) SetName(name string)            { h.metadata().Name = name }

func (h *hand) metadata() *metav1.ObjectMeta {
	if h.ObjectMeta == nil {
		h.ObjectMeta = &metav1.ObjectMeta{}
	}
	return h.ObjectMeta
}

// TestObjectRefusesTypesThatCannotBeReadInto: an object of such a type cannot be made anew.
func TestObjectRefusesTypesThatCannotBeReadInto(t *testing.T) {
	type wrapped struct{ *unstructured.Unstructured }
	type deeper struct{ wrapped }
	named := &hand{ObjectMeta: &configMap().ObjectMeta}
	cases := map[string]client.Object{
		"an embedded pointer":                &wrapped{unstructuredConfigMap()},
		"the same by value":                  wrapped{unstructuredConfigMap()},
		"an embedded pointer further down":   &deeper{wrapped{unstructuredConfigMap()}},
		"an embedded interface":              &struct{ client.Object }{configMap()},
		"a pointer that is made when needed": named,
		"a nil pointer":                      (*wrapped)(nil),
	}
	for name, obj := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := newEnsurer(s)
			_, err := ensure.Object(t.Context(), e, obj)
			require.ErrorIs(t, err, ensure.ErrRefused)
			_, err = ensure.Absent(t.Context(), e, obj)
			require.ErrorIs(t, err, ensure.ErrRefused)
			_, err = ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(obj))
			require.ErrorIs(t, err, ensure.ErrRefused)
			_, err = ensure.Set(t.Context(), e, shop(), nil, ensure.Prune(obj))
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.Empty(t, s.verbs())
		})
	}
}

// Tools write the status of a typed object with empty lists.
func TestAStatusOfEmptyListsIsNone(t *testing.T) {
	desired := with(service(), func(o *corev1.Service) {
		o.Status.Conditions, o.Status.LoadBalancer.Ingress = []metav1.Condition{}, []corev1.LoadBalancerIngress{}
	})
	require.Equal(t, ensure.Created, mustEnsure(t, newEnsurer(newServer()), desired).Operation)
}
