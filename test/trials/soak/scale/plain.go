package scale

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
)

// An application is a server-side apply, ready to be sent.
type application struct {
	object client.Object // into which the answer goes
	body   []byte
}

func (a application) send(ctx context.Context, c client.Client) error {
	patch := client.RawPatch(types.ApplyPatchType, a.body)
	return c.Patch(ctx, a.object, patch, client.ForceOwnership, client.FieldOwner(fieldOwner))
}

// applications returns the apply requests for a Stack's parts, byte for byte as ensure sends them.
func (t *Trial) applications(ctx context.Context, stack *Stack) ([]application, error) {
	var recorded []application
	recorder := interceptor.NewClient(t.admin, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
		},
		Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
			body, err := patch.Data(obj)
			recorded = append(recorded, application{object: obj, body: body})
			return err
		},
	})
	e := ensure.New(recorder, recorder, fieldOwner)
	for _, part := range parts()[:stack.Spec.Parts] {
		if _, err := ensure.Object(ctx, e, part(stack.Name), ensure.ControlledBy(stack)); err != nil {
			return nil, err
		}
	}
	return recorded, nil
}

// runPlain has a plain client create all children of a fleet with as many workers and the same
// requests, and nothing else. It returns the elapsed time.
func (t *Trial) runPlain(ctx context.Context, f *fleet) (time.Duration, Requests, error) {
	prepared := map[*Stack][]application{}
	for _, stack := range f.stacks {
		applications, err := t.applications(ctx, stack)
		if err != nil {
			return 0, Requests{}, fmt.Errorf("cannot record requests: %w", err)
		}
		prepared[stack] = applications
	}
	counter, config := t.newCounter()
	c, err := client.New(config, client.Options{Scheme: t.scheme})
	if err != nil {
		return 0, Requests{}, fmt.Errorf("cannot make a client: %w", err)
	}
	start, began := counter.now(), time.Now()
	err = t.each(ctx, f.stacks, func(ctx context.Context, stack *Stack) error {
		for _, application := range prepared[stack] {
			if err := application.send(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	took := time.Since(began)
	if err != nil {
		return 0, Requests{}, fmt.Errorf("the plain client failed: %w", err)
	}
	requests, err := counter.since(ctx, start)
	return took, requests, err
}
