package main

import (
	_ "embed"
	"fmt"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/status/readiness"
)

// compareReadiness compares readiness.Of with kstatus, for objects that are ready.
func (opts options) compareReadiness(chosen []objectCase) (section, error) {
	s := section{
		Title: "Readiness", Text: readinessText,
		Columns: []string{"object", "typed: time", "typed: allocations", "unstructured: time", "unstructured: allocations"},
	}
	for _, c := range chosen {
		typed, untyped, err := c.ready()
		if err != nil {
			return s, fmt.Errorf("%s: %w", c.name, err)
		}
		costs, err := measure(opts.rounds, opts.turn,
			readinessOf(typed), kstatusOfTyped(typed), readinessOf(untyped), kstatusOf(untyped))
		if err != nil {
			return s, fmt.Errorf("%s: %w", c.name, err)
		}
		s.add(c.name, []figure{
			{value: costs[0].ns / costs[1].ns},
			{value: costs[0].allocs / costs[1].allocs},
			{value: costs[2].ns / costs[3].ns},
			{value: costs[2].allocs / costs[3].allocs},
		})
	}
	return s, nil
}

// ready returns the live object with a status that says that the object is ready.
func (c objectCase) ready() (client.Object, *unstructured.Unstructured, error) {
	object := c.live()
	switch object := object.(type) {
	case *appsv1.Deployment:
		pods := *object.Spec.Replicas
		object.Status = appsv1.DeploymentStatus{
			ObservedGeneration: object.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
	case *unstructured.Unstructured:
		object.Object["status"] = map[string]any{
			"observedGeneration": object.GetGeneration(),
			"conditions":         []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "serving"}},
		}
	}
	kind, err := apiutil.GVKForObject(object, clientgoscheme.Scheme)
	if err != nil {
		return nil, nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	untyped, err := untyped(object)
	return object, untyped, err
}

func untyped(object client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return &unstructured.Unstructured{Object: content}, err
}

func readinessOf(object client.Object) func() error {
	return func() error {
		if found := readiness.Of(object); found.State != readiness.Ready {
			return fmt.Errorf("it is %s: %s", found.State, found.Message)
		}
		return nil
	}
}

func kstatusOf(object *unstructured.Unstructured) func() error {
	return func() error {
		found, err := kstatus.Compute(object)
		if err == nil && found.Status != kstatus.CurrentStatus {
			err = fmt.Errorf("kstatus says that it is %s: %s", found.Status, found.Message)
		}
		return err
	}
}

// kstatusOfTyped converts the object, as callers with Go types do.
func kstatusOfTyped(object client.Object) func() error {
	return func() error {
		untyped, err := untyped(object)
		if err != nil {
			return err
		}
		return kstatusOf(untyped)()
	}
}

//go:embed text/readiness.md
var readinessText string
