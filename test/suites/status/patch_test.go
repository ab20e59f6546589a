package status_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// newPanel creates a Panel in the test's own namespace. Another program writes the initial status,
// if not empty.
func newPanel(t *testing.T, c client.Client, stored map[string]any) *Panel {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(panelGVK)
	u.SetNamespace(shared.Namespace(t))
	u.SetName("panel")
	require.NoError(t, c.Create(t.Context(), u))
	if stored != nil {
		u.Object["status"] = stored
		require.NoError(t, c.Status().Update(t.Context(), u))
	}
	return read(t, c, client.ObjectKeyFromObject(u))
}

func read(t *testing.T, c client.Client, key client.ObjectKey) *Panel {
	t.Helper()
	panel := &Panel{}
	require.NoError(t, c.Get(t.Context(), key, panel))
	return panel
}

// statusOf is all that the server has.
func statusOf(t *testing.T, c client.Client, obj client.Object) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(panelGVK)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(obj), u))
	out, _, err := unstructured.NestedMap(u.Object, "status")
	require.NoError(t, err)
	return out
}

func TestOneRequestOrNone(t *testing.T) {
	c := newClient(t, "one-request")
	panel := newPanel(t, c, nil)
	set := status.For(panel)
	light := func(panel *Panel) {
		panel.Status.Lit = true
		set.True(&panel.Status.Conditions, "Lit", "SwitchedOn", "by hand")
	}

	mark := shared.Mark()
	require.NoError(t, status.Patch(t.Context(), c, panel, light), "the first status of all")
	require.Empty(t, cmp.Diff(map[string]int{"patch panels/status": 1}, requests(t, mark, "one-request")))
	require.Empty(t, cmp.Diff(read(t, c, client.ObjectKeyFromObject(panel)), panel), "the server's answer")

	mark = shared.Mark()
	for range 3 {
		require.NoError(t, status.Patch(t.Context(), c, panel, light))
	}
	require.Empty(t, requests(t, mark, "one-request"))

	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(panelGVK)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(panel), u))
	mark = shared.Mark()
	require.NoError(t, status.Patch(t.Context(), c, u, func(u *unstructured.Unstructured) {
		require.NoError(t, unstructured.SetNestedField(u.Object, "hi", "status", "note"))
	}, status.FieldOwner("noter")))
	require.Empty(t, cmp.Diff(map[string]int{"patch panels/status": 1}, requests(t, mark, "one-request")))
	require.Equal(t, "hi", statusOf(t, c, u)["note"])
	sent, err := shared.Requests(mark, cluster.ByUserAgent("one-request"), cluster.Writes)
	require.NoError(t, err)
	require.Contains(t, sent[0].URI, "fieldManager=noter")
}

func TestUnknownFieldsSurvive(t *testing.T) {
	at := "2020-01-02T03:04:05Z"
	for _, test := range []struct {
		name          string
		before, after map[string]any
		requests      map[string]int
	}{
		{
			name: "beside known ones", requests: map[string]int{"patch panels/status": 1},
			before: map[string]any{
				"note": "theirs", "deep": map[string]any{"er": int64(1)}, "lit": false,
				"place": map[string]any{"room": "hall", "floor": int64(2)},
				"conditions": []any{
					map[string]any{"type": "Theirs", "status": "True", "reason": "R", "message": "", "lastTransitionTime": at, "owner": "them"},
					map[string]any{"type": "Lit", "status": "True", "reason": "R", "message": "", "lastTransitionTime": at, "owner": "them"},
				},
			},
			after: map[string]any{
				"note": "theirs", "deep": map[string]any{"er": int64(1)}, "lit": true,
				"place": map[string]any{"room": "attic", "floor": int64(2)}, "shelf": map[string]any{"room": "cellar"},
				"conditions": []any{
					map[string]any{"type": "Theirs", "status": "True", "reason": "R", "message": "", "lastTransitionTime": at, "owner": "them"},
					map[string]any{
						"type": "Lit", "status": "True", "reason": "SwitchedOn", "message": "by hand", "lastTransitionTime": at, "owner": "them",
						"observedGeneration": int64(1),
					},
				},
			},
		},
		{
			name:     "and nothing else",
			requests: map[string]int{"patch panels/status": 1},
			before:   map[string]any{"note": "theirs", "place": map[string]any{"floor": int64(2)}},
			after: map[string]any{
				"note": "theirs", "lit": true, "place": map[string]any{"room": "attic", "floor": int64(2)},
				"shelf": map[string]any{"room": "cellar"},
				"conditions": []any{map[string]any{
					"type": "Lit", "status": "True", "reason": "SwitchedOn", "message": "by hand", "lastTransitionTime": at,
					"observedGeneration": int64(1),
				}},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, t.Name())
			panel := newPanel(t, c, test.before)
			set := status.For(panel)
			mark := shared.Mark()
			require.NoError(t, status.Patch(t.Context(), c, panel, func(panel *Panel) {
				panel.Status.Lit, panel.Status.Place.Room, panel.Status.Shelf.Room = true, "attic", "cellar"
				set.True(&panel.Status.Conditions, "Lit", "SwitchedOn", "by hand")
				meta.FindStatusCondition(panel.Status.Conditions, "Lit").LastTransitionTime = longAgo()
			}))
			require.Empty(t, cmp.Diff(test.requests, requests(t, mark, t.Name())))
			require.Empty(t, cmp.Diff(test.after, statusOf(t, c, panel)))
		})
	}
}

func longAgo() metav1.Time { return metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)) }

// TestTwoWriters has two programs write their own conditions as fast as possible. Neither loses a
// write, nor sees the other's condition revert.
func TestTwoWriters(t *testing.T) {
	const writes = 500
	c := newClient(t, "writers")
	panel := newPanel(t, c, nil)
	key := client.ObjectKeyFromObject(panel)
	write := func(ours, theirs string) error {
		var mine Panel
		if err := c.Get(t.Context(), key, &mine); err != nil {
			return err
		}
		set, seen := status.For(&mine), -1
		for i := range writes {
			err := errors.New("not tried")
			for err != nil {
				err = status.Patch(t.Context(), c, &mine, func(panel *Panel) {
					set.True(&panel.Status.Conditions, ours, "Counted", strconv.Itoa(i))
				}, status.Live(c))
				if err != nil && !apierrors.IsConflict(err) {
					return err
				}
			}
			if meta.FindStatusCondition(mine.Status.Conditions, ours).Message != strconv.Itoa(i) {
				return errors.New(ours + " is not what was written")
			}
			if other := meta.FindStatusCondition(mine.Status.Conditions, theirs); other != nil {
				count, err := strconv.Atoi(other.Message)
				if err != nil || count < seen {
					return errors.New(theirs + " went back")
				}
				seen = count
			}
		}
		return nil
	}
	var wait sync.WaitGroup
	failures := make([]error, 2)
	wait.Go(func() { failures[0] = write("One", "Two") })
	wait.Go(func() { failures[1] = write("Two", "One") })
	wait.Wait()

	require.NoError(t, errors.Join(failures...))
	panel = read(t, c, key)
	require.Len(t, panel.Status.Conditions, 2)
	for _, condition := range panel.Status.Conditions {
		require.Equal(t, strconv.Itoa(writes-1), condition.Message)
	}
}

func TestLastTransitionTime(t *testing.T) {
	c := newClient(t, "transitions")
	panel := newPanel(t, c, map[string]any{"conditions": []any{map[string]any{
		"type": "Lit", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2020-01-02T03:04:05Z",
	}}})
	transition := func() metav1.Time {
		return read(t, c, client.ObjectKeyFromObject(panel)).Status.Conditions[0].LastTransitionTime
	}
	patch := func(set func(*[]metav1.Condition)) {
		version := panel.ResourceVersion
		require.NoError(t, status.Patch(t.Context(), c, panel, func(panel *Panel) { set(&panel.Status.Conditions) }))
		require.NotEqual(t, version, panel.ResourceVersion, "something was written")
	}

	patch(func(list *[]metav1.Condition) { status.For(panel).True(list, "Lit", "Other", "") })
	patch(func(list *[]metav1.Condition) { status.For(panel).True(list, "Lit", "Other", "message") })
	panel.Spec.Size = 7
	require.NoError(t, c.Update(t.Context(), panel))
	patch(func(list *[]metav1.Condition) { status.For(panel).True(list, "Lit", "Other", "message") })
	require.EqualValues(t, 2, panel.Status.Conditions[0].ObservedGeneration)
	require.True(t, transition().Time.Equal(longAgo().Time))

	patch(func(list *[]metav1.Condition) { status.For(panel).False(list, "Lit", "Other", "message") })
	require.False(t, transition().Time.Equal(longAgo().Time))
}

func TestConflict(t *testing.T) {
	rival := newClient(t, "rival")
	disturb := func(panel *Panel) {
		theirs := read(t, rival, client.ObjectKeyFromObject(panel))
		theirs.Spec.Size++
		require.NoError(t, rival.Update(t.Context(), theirs))
	}
	light := func(panel *Panel) { panel.Status.Lit = true }

	t.Run("is returned", func(t *testing.T) {
		c := newClient(t, t.Name())
		panel := newPanel(t, rival, map[string]any{"lit": false, "place": map[string]any{"room": "hall"}})
		disturb(panel)
		before := panel.DeepCopyObject()
		mark := shared.Mark()
		err := status.Patch(t.Context(), c, panel, light)
		require.True(t, apierrors.IsConflict(err), err)
		require.EqualError(t, err, `cannot write the status of Panel "`+panel.Namespace+`/panel": Conflict: the object was changed since it was read`)
		require.Empty(t, cmp.Diff(before, panel.DeepCopyObject()), "as it was read")
		require.Empty(t, cmp.Diff(map[string]int{"patch panels/status": 1}, requests(t, mark, t.Name())))
	})
	t.Run("is settled on a live read", func(t *testing.T) {
		c := newClient(t, t.Name())
		panel := newPanel(t, rival, map[string]any{"lit": false, "place": map[string]any{"room": "hall"}})
		disturb(panel)
		set := status.For(panel)
		mark := shared.Mark()
		require.NoError(t, status.Patch(t.Context(), c, panel, func(panel *Panel) {
			light(panel)
			set.True(&panel.Status.Conditions, "Lit", "SwitchedOn", "")
		}, status.Live(c)))
		require.Empty(t, cmp.Diff(map[string]int{"patch panels/status": 2, "get panels": 1}, requests(t, mark, t.Name())))
		require.EqualValues(t, 2, panel.Generation)
		require.EqualValues(t, 1, panel.Status.Conditions[0].ObservedGeneration, "that of the object that For saw")
	})
	t.Run("of a built-in kind", func(t *testing.T) {
		c := newClient(t, t.Name())
		budget := newBudget(t, rival)
		require.NoError(t, status.Patch(t.Context(), rival, budget, func(budget *policyv1.PodDisruptionBudget) {
			status.For(budget).True(&budget.Status.Conditions, "Tested", "R", "")
		}, status.Live(rival)))
		stale := budget.DeepCopy()
		label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"meanwhile"}}}`))
		require.NoError(t, rival.Patch(t.Context(), budget, label))
		mark := shared.Mark()
		err := status.Patch(t.Context(), c, stale, func(budget *policyv1.PodDisruptionBudget) {
			budget.Status.Conditions[0].Message = "again"
		})
		require.True(t, apierrors.IsConflict(err), err)
		require.Empty(t, cmp.Diff(map[string]int{"patch poddisruptionbudgets/status": 1}, requests(t, mark, t.Name())))
	})
	t.Run("does not end", func(t *testing.T) {
		c := newClient(t, t.Name())
		panel := newPanel(t, rival, map[string]any{"lit": false, "place": map[string]any{"room": "hall"}})
		mark := shared.Mark()
		err := status.Patch(t.Context(), c, panel, func(panel *Panel) {
			disturb(panel)
			light(panel)
		}, status.Live(c))
		require.True(t, apierrors.IsConflict(err), err)
		require.Empty(t, cmp.Diff(map[string]int{"patch panels/status": 5, "get panels": 4}, requests(t, mark, t.Name())))
	})
}

func newBudget(t *testing.T, c client.Client) *policyv1.PodDisruptionBudget {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: shared.Namespace(t), Name: "budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1))},
	}
	require.NoError(t, c.Create(t.Context(), budget))
	return budget
}

// TestWhateverTheReason validates the written conditions with the schema of metav1.Condition and
// with a built-in kind.
func TestWhateverTheReason(t *testing.T) {
	c := newClient(t, "reasons")
	panel := newPanel(t, c, nil)
	budget := newBudget(t, c)
	for name, test := range map[string]struct{ reason, message string }{
		"no reason":            {"", "m"},
		"a sentence":           {`failed to pull image "x": not found`, "m"},
		"digits":               {"404", "m"},
		"punctuation":          {":,_", "m"},
		"a long reason":        {strings.Repeat("Ab:", 1000), "m"},
		"another script":       {"理由", "m"},
		"no UTF-8":             {"a\xff", "\xff\xfe"},
		"100 kB":               {"Long", strings.Repeat("m", 100_000)},
		"100 kB of two bytes":  {"Long", strings.Repeat("ö", 50_000)},
		"100 kB of four bytes": {"Long", strings.Repeat("🎈", 25_000)},
		"control characters":   {"A\x00\n", "\x00\x01\u2028"},
	} {
		t.Run(name, func(t *testing.T) {
			set := func(list *[]metav1.Condition) { status.For(panel).True(list, "Lit", test.reason, test.message) }
			require.NoError(t, status.Patch(t.Context(), c, panel, func(panel *Panel) { set(&panel.Status.Conditions) }))
			version := panel.ResourceVersion
			require.NoError(t, status.Patch(t.Context(), c, panel, func(panel *Panel) { set(&panel.Status.Conditions) }))
			require.Equal(t, version, panel.ResourceVersion, "the server has what was sent")

			require.NoError(t, status.Patch(t.Context(), c, budget, func(budget *policyv1.PodDisruptionBudget) {
				set(&budget.Status.Conditions)
			}, status.Live(c)))
		})
	}
}

func TestRefusedByTheServer(t *testing.T) {
	c := newClient(t, "refused")
	panel := newPanel(t, c, nil)
	err := status.Patch(t.Context(), c, panel, func(panel *Panel) {
		status.For(panel).True(&panel.Status.Conditions, "no type", "R", "message")
	})
	require.True(t, apierrors.IsInvalid(err), err)
	failure, ok := errors.AsType[*status.Error](err)
	require.True(t, ok)
	require.Equal(t, []string{"status.conditions[0].type"}, failure.Paths)
	require.ErrorContains(t, err, `: Invalid: status.conditions[0].type: Invalid value: "no type": `)
	require.Empty(t, panel.Status.Conditions)
}

// TestRefusedByAWebhook has a webhook give the code of a failed test, which is a Conflict
// and would be tried again.
func TestRefusedByAWebhook(t *testing.T) {
	c := newClient(t, "webhook")
	panel := newPanel(t, c, nil)
	stop, err := shared.MutatingWebhook(t.Context(), "strict", []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{panelGVK.Group}, APIVersions: []string{panelGVK.Version}, Resources: []string{"panels/status"},
		},
	}}, admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Errored(http.StatusUnprocessableEntity, errors.New("ask us"))
	}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })

	mark := shared.Mark()
	err = status.Patch(t.Context(), c, panel, func(panel *Panel) { panel.Status.Lit = true }, status.Live(c))
	require.True(t, apierrors.IsInvalid(err), err)
	require.EqualError(t, err, `cannot write the status of Panel "`+panel.Namespace+`/panel": Invalid: `+
		`admission webhook "handler.trueup-go.github.io" denied the request: ask us`)
	require.Empty(t, cmp.Diff(map[string]int{"patch panels/status": 1}, requests(t, mark, "webhook")))
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	require.True(t, ok)
	require.Equal(t, `admission webhook "handler.trueup-go.github.io" denied the request: ask us`, answer.ErrStatus.Message)
}

// TestThroughACache tests a manager's client whose reads wait for its own writes.
func TestThroughACache(t *testing.T) {
	if !consistency.IsSupported() {
		t.Skip("before controller-runtime v0.25, no read waits for a write")
	}
	rival := newClient(t, "rival")
	scheme, err := prepare()
	require.NoError(t, err)
	config := shared.Config()
	config.UserAgent = t.Name()
	running := cluster.Cached(t, config, runtimecluster.Options{
		Scheme: scheme, Client: client.Options{Cache: cluster.ReadYourWrites()},
	})
	c, key := running.GetClient(), client.ObjectKeyFromObject(newPanel(t, rival, map[string]any{"lit": true, "note": "theirs"}))
	require.Eventually(t, func() bool { return c.Get(t.Context(), key, &Panel{}) == nil }, limit, tick)

	mark := shared.Mark()
	const writes = 20
	for i := range writes {
		panel := read(t, c, key)
		require.EqualValues(t, i, panel.Status.ObservedGeneration, "the write before is seen")
		require.NoError(t, status.Patch(t.Context(), c, panel, func(panel *Panel) { panel.Status.ObservedGeneration = int64(i + 1) }))
	}
	require.Empty(t, cmp.Diff(map[string]int{"patch panels/status": writes}, requests(t, mark, t.Name())), "reads cost no request")

	stale := read(t, c, key)
	theirs := read(t, rival, key)
	theirs.Spec.Size = 7
	require.NoError(t, rival.Update(t.Context(), theirs))
	darken := func(panel *Panel) { panel.Status.Lit = false }
	err = status.Patch(t.Context(), c, stale, darken)
	require.True(t, apierrors.IsConflict(err), err)
	require.True(t, stale.Status.Lit, "as it was read")
	require.NoError(t, status.Patch(t.Context(), c, stale, darken, status.Live(running.GetAPIReader())))
	require.EqualValues(t, 7, stale.Spec.Size)
	require.Equal(t, stale.ResourceVersion, read(t, c, key).ResourceVersion, "the write is what the cache shows next")
	require.Equal(t, "theirs", statusOf(t, rival, stale)["note"])
}

func TestGone(t *testing.T) {
	c := newClient(t, "gone")
	panel := newPanel(t, c, nil)
	light := func(panel *Panel) { panel.Status.Lit = true }
	stale := panel.DeepCopyObject().(*Panel)
	require.NoError(t, c.Delete(t.Context(), panel))
	require.NoError(t, status.Patch(t.Context(), c, stale.DeepCopyObject().(*Panel), light))

	another := &Panel{ObjectMeta: metav1.ObjectMeta{Namespace: panel.Namespace, Name: panel.Name}}
	require.NoError(t, c.Create(t.Context(), another))
	require.NoError(t, status.Patch(t.Context(), c, stale, light, status.Live(c)))
	require.Empty(t, statusOf(t, c, another), "another of the same name")

	lamp := &Lamp{Panel{ObjectMeta: metav1.ObjectMeta{Namespace: panel.Namespace, Name: "lamp"}}}
	require.NoError(t, c.Create(t.Context(), lamp))
	err := status.Patch(t.Context(), c, lamp, func(lamp *Lamp) { lamp.Status.Lit = true })
	require.True(t, apierrors.IsNotFound(err), "a kind without a status subresource: %v", err)
}
