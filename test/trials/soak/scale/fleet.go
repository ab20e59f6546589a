package scale

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A fleet is a namespace with Stacks, in which the default objects of a namespace exist.
type fleet struct {
	namespace string
	stacks    []*Stack
}

// newFleet makes so many Stacks of so many parts.
func (t *Trial) newFleet(ctx context.Context, owners, parts int) (*fleet, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "soak-"}}
	if err := t.admin.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("cannot create a namespace: %w", err)
	}
	f := &fleet{namespace: namespace.Name}
	for i := range owners {
		f.stacks = append(f.stacks, &Stack{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("stack-%d", i)},
			Spec:       StackSpec{Parts: parts},
		})
	}
	err := t.each(ctx, f.stacks, func(ctx context.Context, stack *Stack) error { return t.admin.Create(ctx, stack) })
	if err != nil {
		return nil, fmt.Errorf("cannot create the owners: %w", err)
	}
	return f, until(ctx, func(ctx context.Context) error { return t.furnished(ctx, f.namespace) })
}

// each calls do for all Stacks, with the trial's workers.
func (t *Trial) each(ctx context.Context, stacks []*Stack, do func(context.Context, *Stack) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(t.Workers)
	for _, stack := range stacks {
		group.Go(func() error { return do(ctx, stack) })
	}
	return group.Wait()
}

// furnished returns nil once a namespace has its default objects.
func (t *Trial) furnished(ctx context.Context, namespace string) error {
	return errors.Join(
		t.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{}),
		t.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "kube-root-ca.crt"}, &corev1.ConfigMap{}))
}
