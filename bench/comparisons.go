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

// A comparison is one piece of work: done by trueup, and done by the peer.
type comparison struct {
	trueup, peer func() error
}

// compareDigest compares the digest with the usual hand-written one: the SHA-256 of json.Marshal.
func compareDigest(s objectCase) comparison {
	object := s.desired()
	return comparison{
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

// compareNothingToDoFor compares passes in which the live object matches. The desired object is built
// before the measurement, because the reconciler builds it for both.
func compareNothingToDoFor(ctx context.Context, s objectCase) (comparison, error) {
	ours, err := ensureNothing(ctx, s)
	if err != nil {
		return comparison{}, err
	}
	theirs, err := createOrUpdateNothing(ctx, s)
	return comparison{trueup: ours, peer: theirs}, err
}

func ensureNothing(ctx context.Context, s objectCase) (func() error, error) {
	c, err := newStore(s)
	if err != nil {
		return nil, err
	}
	e := ensure.New(c, c, fieldOwner)
	owner, desired := shop(), s.desired()
	c.acceptsWrites = true
	if _, err := ensure.Object(ctx, e, desired, ensure.ControlledBy(owner), ensure.Adopt()); err != nil {
		return nil, err
	}
	c.acceptsWrites = false
	return func() error {
		res, err := ensure.Object(ctx, e, desired, ensure.ControlledBy(owner))
		if err == nil && res.Operation != ensure.Unchanged {
			err = fmt.Errorf("ensured %s: %s", s.name, res.Operation)
		}
		return err
	}, nil
}

func createOrUpdateNothing(ctx context.Context, s objectCase) (func() error, error) {
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
			s.mutate(object)
			return controllerutil.SetControllerReference(owner, object, c.scheme)
		})
		if err == nil && operation != controllerutil.OperationResultNone {
			err = fmt.Errorf("created or updated %s: %s", s.name, operation)
		}
		return err
	}, nil
}

// deepCopy measures the deep copy that a cached read makes for both.
func deepCopy(s objectCase) func() error {
	live := s.live()
	return func() error {
		_ = live.DeepCopyObject()
		return nil
	}
}
