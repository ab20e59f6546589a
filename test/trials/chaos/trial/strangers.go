package trial

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// strangerTime is how long a stranger stays at most.
const strangerTime = 6 * time.Second

// replaceDuringRevert edits a child, deletes it, and creates another object of its name, which belongs to no operator: a
// stranger. It does so while the operator reverts the edit, between the operator's request and the write, if the webhook is
// asked about that. It comes too late if the operator creates its child again first. After a while it deletes the stranger,
// which no operator may have changed.
func replaceDuringRevert(edit childFunc) childFunc {
	return func(ctx context.Context, u *user, name owners.Ref, child owners.Child, random *rand.Rand) error {
		stranger := strangerNamed(name, random)
		err := u.duringWrite(name,
			func() error { return edit(ctx, u, name, child, random) },
			func() error { return u.replace(ctx, name, stranger) })
		if err != nil {
			return err
		}
		u.journal.note(u.name, "created a stranger", name)
		stay := time.Second + time.Duration(random.Int64N(int64(strangerTime)))
		u.later(ctx, stay, func() error { return u.removeStranger(ctx, stranger) })
		return nil
	}
}

// strangerNamed returns an object to which an operator's apply would be valid.
func strangerNamed(name owners.Ref, random *rand.Rand) *unstructured.Unstructured {
	stranger := name.Object()
	stranger.SetLabels(map[string]string{"example.org/stranger": value(random)})
	if name.Kind == "Service" {
		stranger.Object["spec"] = owners.Manifest{"ports": []any{owners.Manifest{"name": "stranger", "port": int64(1)}}}
	} else {
		stranger.Object["data"] = owners.Manifest{"stranger": "eWVz"}
	}
	return stranger
}

// replace deletes an object and creates another one. It comes too late if the operator creates its own first.
func (u *user) replace(ctx context.Context, name owners.Ref, by client.Object) error {
	err := persist(ctx, func(ctx context.Context) error { return u.client.Delete(ctx, name.Object()) })
	if err != nil {
		return err
	}
	err = persist(ctx, func(ctx context.Context) error { return u.client.Create(ctx, by, client.FieldOwner(foreign)) })
	if apierrors.IsAlreadyExists(err) {
		return errTooLate
	}
	return err
}

// removeStranger deletes a stranger, unless another user's action has done so, and records a violation if an operator
// has changed it.
func (u *user) removeStranger(ctx context.Context, stranger *unstructured.Unstructured) error {
	name := owners.Ref{Kind: stranger.GetKind(), Namespace: stranger.GetNamespace(), Name: stranger.GetName()}
	live := name.Object()
	err := persist(ctx, func(ctx context.Context) error { return u.client.Get(ctx, client.ObjectKeyFromObject(live), live) })
	if apierrors.IsNotFound(err) || err == nil && live.GetUID() != stranger.GetUID() {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range live.GetManagedFields() {
		if slices.Contains(operatorManagers, entry.Manager) {
			u.findings.add("%s of somebody else was changed by %s", name, entry.Manager)
		}
	}
	uid := live.GetUID()
	err = persist(ctx, func(ctx context.Context) error {
		return u.client.Delete(ctx, name.Object(), client.Preconditions{UID: &uid})
	})
	if apierrors.IsConflict(err) {
		err = nil
	}
	return client.IgnoreNotFound(err)
}

// operatorManagers are the field managers of the operators.
var operatorManagers = []string{
	"application-operator", "reverse-words-operator", "site-operator", "bookstore-operator", "postgreswriter-operator",
}
