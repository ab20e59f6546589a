package server

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Each entry of the managed fields names the API version of its fields. After a change of the versions
// of a custom kind, an entry, even one of a status, may name a version to which the API server cannot
// convert the object any more: the version is gone, or its schema lacks a field that has a default now.
// Then every apply fails, and every other write empties the managed fields. A patch of its own gives
// such entries the version that we apply: it is the only write that loses nothing.

// MakeConvertible makes all entries of live be of our API version, after a refusal that
// fault.IsUnconvertible. If they are so already, the refusal stands.
func (a *Applier) MakeConvertible(ctx context.Context, live client.Object, refusal error) (client.Object, error) {
	live, err := a.Server.Reread(ctx, live)
	if err != nil {
		return nil, err
	}
	if !managedfields.HasOtherVersions(live, a.Server.Child.Kind.APIVersion) {
		return nil, refusal
	}
	return a.rewriteVersions(ctx, live)
}

// Convertible returns live, on which a patch of ours builds, with entries that the server does
// not lose with the patch.
func (a *Applier) Convertible(ctx context.Context, live client.Object) (client.Object, error) {
	if a.Server.Child.DryRun || !managedfields.HasOtherVersions(live, a.Server.Child.Kind.APIVersion) {
		return live, nil
	}
	nothing := append(managedfields.TestUID(live), jsonpatch.Test("/metadata/name", live.GetName()))
	tried, err := a.Server.PatchJSON(ctx, "repair", nothing, DryRun)
	switch {
	case apierrors.IsBadRequest(err): // a webhook that takes no dry runs: nothing tells
		return live, nil
	case err != nil || managedfields.HasAny(tried):
		return live, err
	}
	// A webhook that converts may be out of reach. An apply fails then, and says so.
	_, err = a.Apply(ctx, live.GetUID(), DryRun)
	if err != nil && !fault.IsUnconvertible(err) && !apierrors.IsInvalid(err) {
		return nil, err
	}
	return a.rewriteVersions(ctx, live)
}

// rewriteVersions makes all entries of live be of our API version.
func (a *Applier) rewriteVersions(ctx context.Context, live client.Object) (client.Object, error) {
	p := managedfields.NewPatch(live)
	p.SetAPIVersion(a.Server.Child.Kind.APIVersion)
	return a.Server.PatchJSON(ctx, "repair", p.Operations())
}
