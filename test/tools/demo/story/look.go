package story

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/operator"
)

// undone waits until nothing of a user's change to the object called name is left, and reports
// how long the change lasted.
func undone[T client.Object](
	ctx context.Context, s *story, began checkpoint, name, expected, otherwise string, changed func(T) bool,
) (string, error) {
	var change, undoing loggedEvent
	err := s.expect(ctx, expected, func(context.Context) (string, bool) {
		pages := began.seen()
		i := find(pages, name, func(_ watch.EventType, object T) bool { return changed(object) })
		if i < 0 {
			return "no change", false
		}
		j := find(pages[i:], name, func(_ watch.EventType, object T) bool { return !changed(object) })
		if j < 0 {
			return otherwise, false
		}
		change, undoing = pages[i], pages[i+j]
		return "", true
	})
	return took(change, undoing), err
}

// settled waits until the operator has logged the writes, the pods are as desired, and the main object's
// Ready is up to date; it returns the message of Ready. The status of Ready alone does not suffice:
// Ready is also True before the operator has noticed the change. On an existing cluster, where an image
// may not be pulled, pods and Ready are not awaited, and the message is empty.
func (s *story) settled(ctx context.Context, began checkpoint) (message string, err error) {
	err = s.expect(ctx, "Ready to be True", func(ctx context.Context) (string, bool) {
		if len(began.written()) == 0 {
			return "nothing in the operator's log", false
		}
		for _, entry := range began.written() {
			if !s.Process.HasEnded(entry.Text("reconcileID")) {
				return "a reconcile that has not ended", false
			}
		}
		if s.Own == nil {
			return "", true
		}
		if err := operator.RolledOut(ctx, s.client, client.ObjectKey{Namespace: s.Namespace, Name: s.deployment}); err != nil {
			return err.Error(), false
		}
		live, err := s.live(ctx)
		if err != nil {
			return err.Error(), false
		}
		ready := meta.FindStatusCondition(s.conditions(live), "Ready")
		if ready == nil {
			return "no such condition", false
		}
		message = ready.Message
		return fmt.Sprintf("%s, %s: %s", ready.Status, ready.Reason, ready.Message),
			ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == live.GetGeneration()
	})
	return message, err
}

// live returns the live main object once the event log has recorded this version.
func (s *story) live(ctx context.Context) (client.Object, error) {
	live := s.blank()
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.name}, live); err != nil {
		return nil, err
	}
	isNoted := slices.ContainsFunc(s.events.since(0), func(p loggedEvent) bool {
		return p.object.GetUID() == live.GetUID() && p.object.GetResourceVersion() == live.GetResourceVersion()
	})
	if !isNoted {
		return nil, errors.New("what the watcher has not seen yet")
	}
	return live, nil
}

// becomes waits until the main object's condition of that type has this status for this reason, of
// the current generation.
func (s *story) becomes(ctx context.Context, kind string, status metav1.ConditionStatus, reason string) (metav1.Condition, error) {
	var is metav1.Condition
	err := s.expect(ctx, fmt.Sprintf("%s to be %s for %s", kind, status, reason), func(ctx context.Context) (string, bool) {
		live, err := s.live(ctx)
		if err != nil {
			return err.Error(), false
		}
		found := meta.FindStatusCondition(s.conditions(live), kind)
		if found == nil {
			return "no such condition", false
		}
		is = *found
		return fmt.Sprintf("%s, %s: %s", is.Status, is.Reason, is.Message),
			is.Status == status && is.Reason == reason && is.ObservedGeneration == live.GetGeneration()
	})
	return is, err
}

// turns returns the changes of the main object's condition of that type, as status and reason.
func (s *story) turns(pages []loggedEvent, kind string) []string {
	var turns []string
	for _, page := range pages {
		if reflect.TypeOf(page.object) != reflect.TypeOf(s.blank()) || page.object.GetName() != s.name {
			continue
		}
		if is := meta.FindStatusCondition(s.conditions(page.object), kind); is != nil {
			turns = append(turns, fmt.Sprintf("%s %s", is.Status, is.Reason))
		}
	}
	return slices.Compact(turns)
}

func (s *story) turnsOf(pages []loggedEvent, kind string) string {
	return strings.Join(s.turns(pages, kind), ", then ")
}

func added[T client.Object](event watch.EventType, _ T) bool { return event == watch.Added }

func gone[T client.Object](event watch.EventType, _ T) bool { return event == watch.Deleted }

func replicas(n int32) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == n }
}

func imageOf(d *appsv1.Deployment) string { return d.Spec.Template.Spec.Containers[0].Image }

// missing names the kinds of which nothing was found.
func missing(found []int, kinds ...string) string {
	var names []string
	for i, kind := range kinds {
		if found[i] < 0 {
			names = append(names, kind)
		}
	}
	return strings.Join(names, ", no ")
}

func took(from, to loggedEvent) string {
	if lasted := to.at.Sub(from.at).Round(time.Millisecond); lasted > 0 {
		return lasted.String()
	}
	return "less than 1ms"
}
