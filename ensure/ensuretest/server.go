package ensuretest

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// A server adds to the store of a fake client what a real server does: preconditions, dry runs, and
// answers that show the stored object.
type server struct {
	store  *store
	fake   client.WithWatch
	mapper meta.RESTMapper

	writing sync.Mutex
}

func (s *server) client() client.WithWatch {
	return interceptor.NewClient(s.fake, interceptor.Funcs{
		Create:            s.create,
		Update:            s.update,
		Patch:             s.patch,
		Apply:             s.apply,
		Delete:            s.delete,
		DeleteAllOf:       s.deleteAllOf,
		SubResourceCreate: s.createSubresource,
		SubResourceUpdate: s.updateSubresource,
		SubResourcePatch:  s.patchSubresource,
		SubResourceApply:  s.applySubresource,
	})
}

func (s *server) create(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	options := *(&client.CreateOptions{}).ApplyOptions(opts)
	dryRun := taken(&options.DryRun)
	if isPartial(obj) {
		return errCreatePartial
	}
	if err := s.place(obj, errCreateNowhere); err != nil {
		return err
	}
	return s.write(ctx, c, obj, dryRun, func(c client.WithWatch, _ *store) error { return c.Create(ctx, obj, &options) })
}

func (s *server) update(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
	options := *(&client.UpdateOptions{}).ApplyOptions(opts)
	dryRun := taken(&options.DryRun)
	if isPartial(obj) {
		return errUpdatePartial
	}
	if err := s.place(obj, errWriteNowhere); err != nil {
		return err
	}
	return s.write(ctx, c, obj, dryRun, func(c client.WithWatch, _ *store) error {
		if err := s.requireUID(obj, obj.GetUID()); err != nil {
			return err
		}
		return s.asUnversioned(obj, c.Update(ctx, obj, &options))
	})
}

func (s *server) patch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	options := *(&client.PatchOptions{}).ApplyOptions(opts)
	dryRun := taken(&options.DryRun)
	if err := s.place(obj, errPatchNowhere); err != nil {
		return err
	}
	if patch.Type() == types.ApplyPatchType {
		return s.applyPatch(ctx, c, obj, patch, dryRun, options)
	}
	if err := s.refuseStrategic(obj, patch); err != nil {
		return err
	}
	return s.write(ctx, c, obj, dryRun, func(c client.WithWatch, _ *store) error {
		return asUnprocessable(patch, c.Patch(ctx, obj, s.ofStored(obj, patch), &options))
	})
}

// applyPatch bypasses controller-runtime's fake client, which reads bodies into Go types. Go types lose
// the values that omitempty leaves out, such as the empty list of a NetworkPolicy that admits no
// traffic.
func (s *server) applyPatch(
	ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, dryRun []string, options client.PatchOptions,
) error {
	if errs := validation.ValidatePatchOptions(options.AsPatchOptions(), patch.Type()); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	if obj.GetName() == "" {
		return errNameless
	}
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	config := &unstructured.Unstructured{}
	if err := utilyaml.Unmarshal(body, &config.Object); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return s.write(ctx, c, obj, dryRun, func(_ client.WithWatch, in *store) error {
		return in.applyBody(config, obj, *options.AsPatchOptions())
	})
}

func (s *server) apply(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	body, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	answer := appliedBy(obj)
	patch := client.RawPatch(types.ApplyPatchType, body)
	if err := s.patch(ctx, c, answer, patch, &client.PatchOptions{Raw: options.AsPatchOptions(), DryRun: options.DryRun}); err != nil {
		return err
	}
	return answerWith(obj, answer)
}

// answerWith sets config to the stored object.
func answerWith(config runtime.ApplyConfiguration, stored client.Object) error {
	answer, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	if _, ok := config.(interface{ UnstructuredContent() map[string]any }); !ok {
		reflect.ValueOf(config).Elem().SetZero() // else fields that are no longer stored would stay
	}
	return json.Unmarshal(answer, config)
}

func (s *server) delete(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
	options := *(&client.DeleteOptions{}).ApplyOptions(opts)
	dryRun := taken(&options.DryRun)
	if err := s.place(obj, errWriteNowhere); err != nil {
		return err
	}
	removed, _ := obj.DeepCopyObject().(client.Object) // obj itself does not change
	return s.write(ctx, c, removed, dryRun, func(c client.WithWatch, _ *store) error {
		if seen := options.Preconditions; seen != nil && seen.UID != nil {
			if err := s.requireUID(obj, *seen.UID); err != nil {
				return err
			}
		}
		return c.Delete(ctx, obj, &options)
	})
}

func (s *server) deleteAllOf(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
	options := *(&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	all, _ := obj.DeepCopyObject().(client.Object)
	all.SetNamespace(options.Namespace)
	if err := s.place(all, errDeleteAllNowhere); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return c.DeleteAllOf(ctx, obj, opts...)
}

// ofStored returns patch for an object as a server stores it. A custom object without a status has none
// there, although its Go type shows an empty one.
func (s *server) ofStored(obj client.Object, patch client.Patch) client.Patch {
	if patch.Type() != types.JSONPatchType || !s.store.showsEmptyStatus(obj) {
		return patch
	}
	data, err := patch.Data(obj)
	var operations []any
	if err != nil || json.Unmarshal(data, &operations) != nil {
		return patch // the write itself tells
	}
	all, err := json.Marshal(append([]any{map[string]any{"op": "remove", "path": "/status"}}, operations...))
	if err != nil {
		return patch
	}
	return client.RawPatch(types.JSONPatchType, all)
}
