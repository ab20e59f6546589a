package ensuretest

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (s *server) createSubresource(
	ctx context.Context, c client.Client, name string, obj, body client.Object, opts ...client.SubResourceCreateOption,
) error {
	options := *(&client.SubResourceCreateOptions{}).ApplyOptions(opts)
	dryRun := taken(&options.DryRun)
	of, _ := obj.DeepCopyObject().(client.Object) // obj itself does not change
	return s.writeSubresource(ctx, c, name, of, dryRun, func(c client.SubResourceClient) error {
		return c.Create(ctx, obj, body, &options)
	})
}

func (s *server) updateSubresource(
	ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	options := *(&client.SubResourceUpdateOptions{}).ApplyOptions(opts)
	dryRun := taken(&options.DryRun)
	return s.writeSubresource(ctx, c, name, obj, dryRun, func(c client.SubResourceClient) error {
		if name != "scale" || options.SubResourceBody == nil {
			return s.asUnversioned(obj, c.Update(ctx, obj, &options))
		}
		of, _ := obj.DeepCopyObject().(client.Object) // controller-runtime would store all of obj
		if err := s.fake.Get(ctx, client.ObjectKeyFromObject(obj), of); err != nil {
			return err
		}
		of.SetResourceVersion(options.SubResourceBody.GetResourceVersion())
		return c.Update(ctx, of, &options)
	})
}

func (s *server) patchSubresource(
	ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	options := *(&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	dryRun := taken(&options.DryRun)
	if err := s.refuseStrategic(obj, patch); err != nil {
		return err
	}
	return s.writeSubresource(ctx, c, name, obj, dryRun, func(c client.SubResourceClient) error {
		return asUnprocessable(patch, c.Patch(ctx, obj, s.ofStored(obj, patch), &options))
	})
}

func (s *server) applySubresource(
	ctx context.Context, c client.Client, name string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	options := *(&client.SubResourceApplyOptions{}).ApplyOpts(opts)
	dryRun := taken(&options.DryRun)
	answer := appliedBy(obj)
	err := s.writeSubresource(ctx, c, name, answer, dryRun, func(c client.SubResourceClient) error {
		return c.Apply(ctx, obj, &options)
	})
	if err != nil || len(dryRun) == 0 {
		return err
	}
	return answerWith(obj, answer)
}

func (s *server) writeSubresource(
	ctx context.Context, c client.Client, name string, obj client.Object, dryRun []string, do func(client.SubResourceClient) error,
) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if gvk, err := s.fake.GroupVersionKindFor(obj); err == nil && name == "status" && s.store.withStatus[gvk] == nil {
		gvr, _ := meta.UnsafeGuessKindToResource(gvk)
		return apierrors.NewNotFound(gvr.GroupResource(), obj.GetName()) // a NetworkPolicy has none, whatever controller-runtime says
	}
	return attempt(obj, func() error {
		if len(dryRun) > 0 {
			return s.rehearse(ctx, obj, func(c client.WithWatch, stage *store) error {
				return stage.of(name, func() error { return do(c.SubResource(name)) })
			})
		}
		return s.store.of(name, func() error { return do(c.SubResource(name)) })
	})
}
