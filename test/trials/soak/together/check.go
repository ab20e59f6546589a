package together

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// interval is the time between two looks. A look lists everything.
const interval = time.Second

// settle waits until two consecutive looks find everything right and no request of an operator in
// between, and returns how long that took for each kind. When the limit is over, settle returns the
// remaining errors.
func (e *environment) settle(ctx context.Context, limit time.Duration) ([]time.Duration, error) {
	begun := time.Now()
	took := make([]time.Duration, len(e.kinds))
	for {
		since := e.cluster.Mark()
		if err := pass(ctx, interval); err != nil {
			return nil, err
		}
		found, err := e.remainingActivity(ctx, since)
		if err != nil {
			return nil, err
		}
		for i := range found {
			switch {
			case len(found[i]) > 0:
				took[i] = 0
			case took[i] == 0:
				took[i] = time.Since(begun)
			}
		}
		problems := slices.Concat(found...)
		switch {
		case len(problems) == 0:
			return took, nil
		case time.Since(begun) > limit:
			return took, fmt.Errorf("after %s there are %d problems: %s", limit, len(problems),
				strings.Join(problems[:min(shown, len(problems))], "; "))
		}
	}
}

// remainingActivity returns, for each kind, the remaining errors and the requests of its operator.
func (e *environment) remainingActivity(ctx context.Context, since cluster.Mark) ([][]string, error) {
	s, err := e.look(ctx)
	if err != nil {
		return nil, err
	}
	found := make([][]string, len(e.kinds))
	for i, k := range e.kinds {
		found[i] = append(e.deviations(s, k), e.leftBehind(s, k)...)
		sent, err := e.sent(i, since)
		if err != nil {
			return nil, err
		}
		if len(sent) > 0 {
			found[i] = append(found[i], fmt.Sprintf("the operator %s is at work: %v", k.operator, cluster.Counts(sent)))
		}
	}
	_, lost := e.marks.tally(s)
	for of, missing := range lost {
		found[0] = append(found[0], fmt.Sprintf("the mark of %s is lost: %s", of, missing))
	}
	return found, nil
}

// sent returns the requests of an operator except watches and events. client-go sends events later,
// and updates their counts minutes later.
func (e *environment) sent(kind int, since cluster.Mark) ([]cluster.Request, error) {
	return e.cluster.Requests(since, cluster.ByUser(e.users[kind]), cluster.NoEvents,
		func(r cluster.Request) bool { return r.Verb != "watch" })
}

// deviations lists the deviations from the specs of the kind's objects.
func (e *environment) deviations(s *clusterState, k *kind) []string {
	var found []string
	objects := e.objectsOf(k)
	for _, o := range objects {
		if !o.isGone {
			found = append(found, e.deviationsOf(s, o)...)
		}
	}
	if k.check != nil {
		found = append(found, k.check(s, objects)...)
	}
	return found
}

func (e *environment) deviationsOf(s *clusterState, o *object) []string {
	gvk, err := apiutil.GVKForObject(o.owner, e.admin.Scheme())
	if err != nil {
		return []string{err.Error()}
	}
	name := ref{gvk.Kind, o.key.Namespace, o.key.Name}
	live := s.objects[name]
	if live == nil || live.GetDeletionTimestamp() != nil {
		return []string{fmt.Sprintf("%s is not there", name)}
	}
	var found []string
	complain := func(of ref, what string) {
		if what != "" {
			found = append(found, fmt.Sprintf("%s: %s", of, what))
		}
	}
	spec, err := specOf(o.owner)
	if err != nil {
		return []string{err.Error()}
	}
	complain(name, lacks(live.Object["spec"], spec, "spec"))
	complain(name, o.checkStatus(s, live))
	for i := range o.children() {
		child, want := o.child(i)
		complain(child, o.checkChild(s.objects[child], live, want))
	}
	return found
}

// checkStatus lists the errors in the owner's status.
func (o *object) checkStatus(s *clusterState, live *unstructured.Unstructured) string {
	if o.kind.finalizer != "" && !slices.Contains(live.GetFinalizers(), o.kind.finalizer) {
		return "it has no finalizer"
	}
	status, reason := o.kind.ready(o.owner)
	ready := manifest{"type": "Ready", "status": string(status), "observedGeneration": live.GetGeneration()}
	if reason != "" {
		ready["reason"] = reason
	}
	want := manifest{"observedGeneration": live.GetGeneration(), "conditions": []any{ready}}
	if o.kind.status != nil {
		maps.Copy(want, o.kind.status(o.owner))
	}
	var children []any
	for i := range o.children() {
		child, _ := o.child(i)
		if there := s.objects[child]; there != nil {
			children = append(children, manifest{"kind": child.kind, "name": child.name, "uid": string(there.GetUID())})
		}
	}
	if len(children) > 0 {
		want["children"] = children
	}
	return lacks(live.Object["status"], want, "status")
}

// checkChild lists the errors of one child.
func (o *object) checkChild(live, owner *unstructured.Unstructured, want manifest) string {
	switch {
	case live == nil:
		return "it is not there"
	case live.GetDeletionTimestamp() != nil:
		return "it is going"
	case live.GetLabels()[o.kind.digest] == "" && live.GetAnnotations()[o.kind.digest] == "":
		return "it has no digest"
	}
	if missing := lacks(live.Object, want, ""); missing != "" {
		return missing
	}
	reference := metav1.OwnerReference{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
	if is := live.GetOwnerReferences(); !equality.Semantic.DeepEqual(is, []metav1.OwnerReference{reference}) {
		return fmt.Sprintf("its owners are %v, not %v", is, reference)
	}
	switch text(want, "kind") {
	case "Service":
		return checkSelector(live.Object, want)
	case "Deployment":
		if status, _ := o.kind.ready(o.owner); status == metav1.ConditionTrue {
			return checkRollout(live)
		}
	}
	return ""
}

// checkSelector finds foreign additions to a selector, which are not permitted there.
func checkSelector(live, want manifest) string {
	is, _, _ := unstructured.NestedMap(live, "spec", "selector")
	should, _, _ := unstructured.NestedMap(want, "spec", "selector")
	if !equality.Semantic.DeepEqual(is, should) {
		return fmt.Sprintf("it selects %v, not %v", is, should)
	}
	return ""
}

// checkRollout finds an incomplete rollout of a Deployment that is reported as ready.
func checkRollout(live *unstructured.Unstructured) string {
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &d); err != nil {
		return err.Error()
	}
	wanted, is := ptr.Deref(d.Spec.Replicas, 1), d.Status
	if is.ObservedGeneration != d.Generation || is.Replicas != wanted || is.UpdatedReplicas != wanted || is.AvailableReplicas != wanted {
		return fmt.Sprintf("of %d pods %d are available and %d updated, and there are %d",
			wanted, is.AvailableReplicas, is.UpdatedReplicas, is.Replicas)
	}
	return ""
}

// leftBehind lists objects of the kind, and their children, that nobody wants.
func (e *environment) leftBehind(s *clusterState, k *kind) []string {
	asked := map[ref]bool{}
	for _, o := range e.objectsOf(k) {
		if o.isGone {
			continue
		}
		gvk, err := apiutil.GVKForObject(o.owner, e.admin.Scheme())
		if err != nil {
			return []string{err.Error()}
		}
		asked[ref{gvk.Kind, o.key.Namespace, o.key.Name}] = true
		for i := range o.children() {
			child, _ := o.child(i)
			asked[child] = true
		}
	}
	var found []string
	for name, live := range s.objects {
		if !strings.Contains(name.name, k.prefix+"-") || asked[name] || name.kind == claimKind {
			continue
		}
		if name.kind == "Pod" || name.kind == "ReplicaSet" {
			if controller := metav1.GetControllerOf(live); controller != nil && s.byUID[controller.UID] != nil {
				continue
			}
		}
		found = append(found, fmt.Sprintf("%s is left behind", name))
	}
	return found
}
