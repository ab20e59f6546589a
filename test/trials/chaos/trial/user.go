package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

const (
	// requestTimeout bounds a request to an API server that may be frozen.
	requestTimeout = 10 * time.Second
	// revertTime is how long an operator usually needs at most to revert an edit.
	revertTime = 5 * time.Second
)

// A user changes objects that no other user changes, so that their final state is known.
type user struct {
	*environment

	name    string
	client  client.Client
	objects []*object
	actions []scheduledAction
	// done and late count actions: late ones found no object to act on, or another one than they had read.
	done, late int
	// refused describes the actions that the API server refused.
	refused []string
	// pending has what users do after a while, such as the removal of a finalizer.
	pending errgroup.Group
}

// createAll creates the objects of the user.
func (u *user) createAll(ctx context.Context) error {
	for _, o := range u.objects {
		if err := u.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// markAll marks the objects and all their children.
func (u *user) markAll(ctx context.Context) error {
	for i, o := range u.objects {
		value := fmt.Sprintf("first-%d", i)
		if err := u.markOwner(ctx, o, value); err != nil {
			return err
		}
		for index := range o.children() {
			if err := u.markChild(ctx, o, index, rand.New(rand.NewPCG(uint64(i), uint64(index)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// act carries out the actions, each at its time. A late action is carried out at once, or not at all if the faults are over.
func (u *user) act(ctx context.Context) error {
	for i, d := range u.actions {
		if err := u.waitUntil(ctx, d.at); err != nil {
			return err
		}
		if time.Since(u.began) > u.plan.Duration {
			u.late += len(u.actions) - i
			break
		}
		u.journal.note(u.name, d.action.name, d.object.ref())
		switch err := d.action.do(ctx, u, d.object, d.random); {
		case err == nil:
			u.done++
		case isTooLate(err):
			u.late++
		case isAnswer(err):
			u.refused = append(u.refused, fmt.Sprintf("%s: %v", d, err))
		default:
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	return u.pending.Wait()
}

// later does something after a while, beside the user's other actions.
func (u *user) later(ctx context.Context, after time.Duration, do func() error) {
	u.pending.Go(func() error {
		if err := pass(ctx, after); err != nil {
			return err
		}
		return do()
	})
}

// errTooLate means that the object of an action does not exist at present.
var errTooLate = errors.New("it came too late")

// failedTest is the API server's answer to a JSON patch whose test fails.
const failedTest = "the server rejected our request due to an error in our request"

// isTooLate reports whether err is caused by others who changed or deleted the object.
func isTooLate(err error) bool {
	return errors.Is(err, errTooLate) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) ||
		apierrors.IsInvalid(err) && (strings.Contains(err.Error(), "metadata.uid") || strings.Contains(err.Error(), failedTest))
}

// persist repeats a request until the API server answers. An earlier attempt may have succeeded without an answer.
func persist(ctx context.Context, send func(context.Context) error) error {
	return await.Until(ctx, waitTimeout, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		err := send(ctx)
		if err != nil && (isTooLate(err) || isAnswer(err)) {
			return await.Final(err)
		}
		return err
	})
}

// isAnswer reports whether err is an answer that another attempt would get, too.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code < 500 && !apierrors.IsTooManyRequests(err)
}

// patch sends a patch to the object of that name.
func (u *user) patch(ctx context.Context, to owners.Ref, kind types.PatchType, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return persist(ctx, func(ctx context.Context) error {
		return u.client.Patch(ctx, to.Object(), client.RawPatch(kind, text))
	})
}

// read returns the live object of that name. It comes too late for an object that is being deleted.
func (u *user) read(ctx context.Context, of owners.Ref) (client.Object, error) {
	live := of.Object()
	err := persist(ctx, func(ctx context.Context) error { return u.client.Get(ctx, client.ObjectKeyFromObject(live), live) })
	if err == nil && live.GetDeletionTimestamp() != nil {
		err = errTooLate
	}
	return live, err
}

// pass lets time pass: a fault lasts for so long, or comes at such a moment.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// duringWrite edits an object, and interferes while the operator's answer to that waits for the webhook. If the operator
// writes nothing within revertTime, it interferes then.
func (u *user) duringWrite(to owners.Ref, edit, interfere func() error) error {
	done := make(chan error, 1)
	cancel := u.webhook.duringWrite(to, func() { done <- interfere() })
	if err := edit(); err != nil && cancel() {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-time.After(revertTime):
	}
	if cancel() {
		return interfere()
	}
	return <-done
}
