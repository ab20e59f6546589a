package messages_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestEachTextIsAWarning, though neither the owner nor the child, which is not made, changes.
// client-go would keep the first note.
func TestEachTextIsAWarning(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.config("owner")
	f.make(owner)
	require.NoError(t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(owner), owner))
	running := program.Cached(t, shared, operator)
	clock := testingclock.NewFakePassiveClock(time.Now())
	e := f.ensurer(ensure.WithRecorder(running.GetEventRecorder(operator)), testclock.With[ensure.Setting](clock))
	for _, sentence := range []string{"ask Ann", "ask Bob"} {
		done := f.policy(sentence, metav1.StatusReasonForbidden)
		clock.SetTime(clock.Now().Add(time.Hour))
		for range 3 {
			_, err := ensure.Object(f.ctx, e, f.config("settings"), ensure.ControlledBy(owner))
			require.ErrorContains(t, err, sentence)
		}
		done()
	}
	notes := map[string]int{}
	require.NoError(t, shared.Await(f.ctx, limit, f.namespace, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := f.admin.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
			return err
		}
		clear(notes)
		for i := range list.Items {
			event := &list.Items[i]
			if event.Type == corev1.EventTypeWarning && event.Regarding.UID == owner.GetUID() && event.Series == nil {
				notes[event.Reason+" "+event.Note]++
			}
		}
		if len(notes) < 2 {
			return fmt.Errorf("seen %v", notes)
		}
		return nil
	}))
	text := func(sentence string) string {
		return `Forbidden cannot create ConfigMap "` + f.namespace + `/settings": Forbidden: ValidatingAdmissionPolicy '` + f.namespace +
			`' with binding '` + f.namespace + `' denied request: ` + sentence
	}
	require.Equal(t, map[string]int{text("ask Ann"): 1, text("ask Bob"): 1}, notes)
}
