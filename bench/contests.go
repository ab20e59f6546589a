package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
)

const fieldOwner = "shop-operator"

// A contest compares one piece of work: done by trueup, and done by the peer.
type contest struct {
	trueup, peer func() error
}

// digestOf compares the digest with the usual hand-written one: the SHA-256 of json.Marshal.
func digestOf(s subject) contest {
	object := s.desired()
	return contest{
		trueup: func() error {
			_, err := hash.Object(object)
			return err
		},
		peer: func() error {
			_, err := marshalAndHash(object)
			return err
		},
	}
}

func marshalAndHash(object client.Object) (string, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// nothingToDo compares passes in which the live object matches. The desired object is built
// before the measurement, because the reconciler builds it for both.
func nothingToDo(ctx context.Context, s subject) (contest, error) {
	ours, err := ensureNothing(ctx, s)
	if err != nil {
		return contest{}, err
	}
	theirs, err := createOrUpdateNothing(ctx, s)
	return contest{trueup: ours, peer: theirs}, err
}

func ensureNothing(ctx context.Context, s subject) (func() error, error) {
	c, err := newStore(s)
	if err != nil {
		return nil, err
	}
	e := ensure.New(c, c, fieldOwner)
	owner, desired := shop(), s.desired()
	c.open = true
	if _, err := ensure.Object(ctx, e, desired, ensure.ControlledBy(owner), ensure.Adopt()); err != nil {
		return nil, err
	}
	c.open = false
	return func() error {
		res, err := ensure.Object(ctx, e, desired, ensure.ControlledBy(owner))
		if err == nil && res.Operation != ensure.Unchanged {
			err = fmt.Errorf("ensured %s: %s", s.name, res.Operation)
		}
		return err
	}, nil
}

func createOrUpdateNothing(ctx context.Context, s subject) (func() error, error) {
	c, err := newStore(s)
	if err != nil {
		return nil, err
	}
	owner := shop()
	if err := controllerutil.SetControllerReference(owner, c.object, c.scheme); err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(c.object)
	return func() error {
		object := s.empty()
		object.SetNamespace(key.Namespace)
		object.SetName(key.Name)
		operation, err := controllerutil.CreateOrUpdate(ctx, c, object, func() error {
			s.spell(object)
			return controllerutil.SetControllerReference(owner, object, c.scheme)
		})
		if err == nil && operation != controllerutil.OperationResultNone {
			err = fmt.Errorf("created or updated %s: %s", s.name, operation)
		}
		return err
	}, nil
}

// deepCopy measures the deep copy that a cached read makes for both.
func deepCopy(s subject) func() error {
	live := s.live()
	return func() error {
		_ = live.DeepCopyObject()
		return nil
	}
}
