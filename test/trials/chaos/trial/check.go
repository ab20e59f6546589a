package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// A judge compares the desired objects with a state.
type judge struct {
	*state

	objects []*object
	found   []string
}

func (j *judge) complain(of owners.Ref, problem string) {
	if problem != "" {
		j.found = append(j.found, of.String()+": "+problem)
	}
}

// differences lists the differences between the desired objects and the state: of owners, children, claims and rows.
func differences(s *state, objects []*object) []string {
	j := &judge{state: s, objects: objects}
	for _, o := range objects {
		if !o.isGone {
			j.judgeOwner(o)
		}
		j.judgeClaims(o)
	}
	j.judgeRest()
	j.judgeRows()
	return j.found
}

func (j *judge) judgeOwner(o *object) {
	live := j.state.objects[o.ref()]
	if live == nil || live.GetDeletionTimestamp() != nil {
		j.complain(o.ref(), "it does not exist")
		return
	}
	spec, err := owners.SpecOf(o.owner)
	if err != nil {
		j.complain(o.ref(), err.Error())
		return
	}
	j.complain(o.ref(), owners.Lacks(live.Object["spec"], spec, "spec"))
	j.complain(o.ref(), j.checkStatus(o, live))
	for i := range o.children() {
		name, child, _ := o.child(i)
		controller := j.state.objects[owners.Ref{Kind: child.Controller, Namespace: name.Namespace, Name: o.key.Name}]
		j.complain(name, o.checkChild(j.state.objects[name], controller, child))
	}
}

// checkStatus describes an error in the owner's status.
func (j *judge) checkStatus(o *object, live *unstructured.Unstructured) string {
	if o.kind.Finalizer != "" && !slices.Contains(live.GetFinalizers(), o.kind.Finalizer) {
		return "it has no finalizer"
	}
	status, reason := o.kind.Ready(o.owner)
	ready := owners.Manifest{"type": "Ready", "status": string(status), "observedGeneration": live.GetGeneration()}
	if reason != "" {
		ready["reason"] = reason
	}
	want := owners.Manifest{"conditions": []any{ready}}
	if o.kind.Status != nil {
		maps.Copy(want, o.kind.Status(o.owner))
	}
	if o.kind.ListsChildren {
		var children []any
		for i := range o.children() {
			name, _, _ := o.child(i)
			if child := j.state.objects[name]; child != nil {
				children = append(children, owners.Manifest{"kind": name.Kind, "name": name.Name, "uid": string(child.GetUID())})
			}
		}
		want["children"] = children
	}
	return owners.Lacks(live.Object["status"], want, "status")
}

// checkChild describes an error of one child.
func (o *object) checkChild(live, controller *unstructured.Unstructured, child owners.Child) string {
	switch {
	case live == nil || controller == nil:
		return "it does not exist"
	case live.GetDeletionTimestamp() != nil:
		return "it is being deleted"
	case live.GetLabels()[child.Digest] == "" && live.GetAnnotations()[child.Digest] == "":
		return "it has no digest"
	}
	if missing := owners.Lacks(live.Object, child.Want, ""); missing != "" {
		return missing
	}
	reference := metav1.OwnerReference{
		APIVersion: controller.GetAPIVersion(), Kind: controller.GetKind(), Name: controller.GetName(), UID: controller.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
	if is := live.GetOwnerReferences(); !equality.Semantic.DeepEqual(is, []metav1.OwnerReference{reference}) {
		return fmt.Sprintf("its owners are %v, not %v", is, reference)
	}
	switch child.Kind() {
	case "Service":
		return checkSelector(live.Object, child.Want)
	case "Deployment":
		if status, _ := o.kind.Ready(o.owner); status == metav1.ConditionTrue {
			return checkRollout(live)
		}
	}
	return ""
}

// checkSelector describes foreign additions to a selector, which the operator has to remove.
func checkSelector(live, want owners.Manifest) string {
	is, _, _ := unstructured.NestedMap(live, "spec", "selector")
	should, _, _ := unstructured.NestedMap(want, "spec", "selector")
	if !equality.Semantic.DeepEqual(is, should) {
		return fmt.Sprintf("it selects %v, not %v", is, should)
	}
	return ""
}

// checkRollout describes an incomplete rollout of a Deployment.
func checkRollout(live *unstructured.Unstructured) string {
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &d); err != nil {
		return err.Error()
	}
	wanted, is := ptr.Deref(d.Spec.Replicas, 1), d.Status
	if is.ObservedGeneration != d.Generation || is.Replicas != wanted || is.UpdatedReplicas != wanted || is.AvailableReplicas != wanted {
		return fmt.Sprintf("of %d pods %d are available and %d updated, and %d exist",
			wanted, is.AvailableReplicas, is.UpdatedReplicas, is.Replicas)
	}
	return ""
}

// judgeClaims finds claims that are missing or too small, and those of deleted owners that should be gone.
func (j *judge) judgeClaims(o *object) {
	volume, ok := owners.VolumeOf(o.owner)
	if !ok {
		return
	}
	bound := owners.Manifest{"phase": "Bound", "capacity": owners.Manifest{"storage": volume.Size}}
	for i := range volume.Pods {
		name := owners.Ref{Kind: owners.Claim, Namespace: o.key.Namespace, Name: fmt.Sprintf("%s%d", volume.Prefix, i)}
		switch claim := j.state.objects[name]; {
		case o.isGone:
		case claim == nil:
			j.complain(name, "it does not exist")
		default:
			j.complain(name, owners.Lacks(claim.Object["status"], bound, "status"))
		}
	}
	for name := range j.state.objects {
		isOurs := name.Kind == owners.Claim && name.Namespace == o.key.Namespace && strings.HasPrefix(name.Name, volume.Prefix)
		if isOurs && o.isGone && !volume.IsRetained {
			j.complain(name, "it is left behind")
		}
	}
}

// judgeRest finds objects that nobody wants.
func (j *judge) judgeRest() {
	wanted := map[owners.Ref]bool{}
	for _, o := range j.objects {
		if o.isGone {
			continue
		}
		wanted[o.ref()] = true
		for i := range o.children() {
			name, _, _ := o.child(i)
			wanted[name] = true
		}
	}
	for name, live := range j.state.objects {
		if wanted[name] || name.Kind == owners.Claim || name.Name == "kube-root-ca.crt" {
			continue
		}
		if name.Kind == "Pod" || name.Kind == "ReplicaSet" {
			if controller := metav1.GetControllerOf(live); controller != nil && j.state.byUID[controller.UID] != nil {
				continue
			}
		}
		j.complain(name, "it is left behind")
	}
}

// judgeRows finds rows that differ from the PostgresWriters.
func (j *judge) judgeRows() {
	wanted := map[string]bool{}
	for _, o := range j.objects {
		if o.isGone || o.kind.Name() != "PostgresWriter" {
			continue
		}
		key, row := owners.RowKey(o.owner), owners.RowOf(o.owner)
		wanted[key] = true
		if is := j.rows[key]; !slices.Equal(is, []owners.Row{row}) {
			j.complain(o.ref(), fmt.Sprintf("its rows are %v, not %v", is, row))
		}
	}
	for key, is := range j.rows {
		if !wanted[key] {
			j.found = append(j.found, fmt.Sprintf("the rows %v of %s are left behind", is, key))
		}
	}
}
