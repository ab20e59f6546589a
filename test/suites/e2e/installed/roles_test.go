package installed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoles uses each custom resource as people with the ClusterRoles view, edit and admin in a namespace.
// No operator runs, so that nobody else writes.
func TestRoles(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			f := newFixture(t, e)
			f.install(t, f.build(t, ""))
			viewer := f.user(t, "view")
			editor := f.user(t, "edit")
			chief := f.user(t, "admin")
			editor.eventuallyMay(t, "create", f.resource)
			viewer.eventuallyMay(t, "list", f.resource)
			chief.eventuallyMay(t, "deletecollection", f.resource)
			samples := f.samples(t, f.watched)

			viewer.isForbidden(t, "apply", "-f", samples)
			editor.can(t, "apply", "-f", samples)
			f.testScale(t, viewer, editor)
			viewer.can(t, "get", f.resource, f.sample)
			for _, person := range []user{viewer, editor, chief} {
				person.isForbidden(t, "patch", f.resource, f.sample, "--subresource=status", "--type=merge", `--patch={"status":{"observedGeneration":7}}`)
				person.isForbidden(t, "patch", "crd", f.crd(), "--type=merge", `--patch={"metadata":{"labels":{"a":"b"}}}`)
				person.isForbidden(t, "delete", "crd", f.crd())
			}
			viewer.isForbidden(t, "label", f.resource, f.sample, "team=blue")
			viewer.isForbidden(t, "delete", f.resource, f.sample)
			editor.can(t, "label", f.resource, f.sample, "team=blue")
			editor.can(t, "delete", f.resource, f.sample)
			editor.isForbidden(t, "-n", f.other, "get", f.resource)
		})
	}
}

// testScale checks who may scale the sample.
func (f *fixture) testScale(t *testing.T, viewer, editor user) {
	t.Helper()
	if !f.scales {
		return
	}
	viewer.can(t, "auth", "can-i", "get", f.resource, "--subresource=scale")
	_, err := viewer.try(t.Context(), "auth", "can-i", "patch", f.resource, "--subresource=scale")
	require.Error(t, err)
	for _, verb := range []string{"get", "patch", "update"} {
		editor.can(t, "auth", "can-i", verb, f.resource, "--subresource=scale")
	}
	viewer.isForbidden(t, "scale", f.resource+"/"+f.sample, "--replicas=2")
	editor.can(t, "scale", f.resource+"/"+f.sample, "--replicas=2")
}

// A user has a ClusterRole in the namespace f.watched.
type user struct {
	name, namespace string
}

func (f *fixture) user(t *testing.T, role string) user {
	t.Helper()
	kubectl(t, "-n", f.watched, "create", "rolebinding", role, "--clusterrole="+role, "--user="+role)
	return user{name: role, namespace: f.watched}
}

func (u user) try(ctx context.Context, args ...string) (string, error) {
	return tryKubectl(ctx, append([]string{"--as", u.name, "-n", u.namespace}, args...)...)
}

func (u user) can(t *testing.T, args ...string) {
	t.Helper()
	_, err := u.try(t.Context(), args...)
	require.NoError(t, err)
}

func (u user) isForbidden(t *testing.T, args ...string) {
	t.Helper()
	_, err := u.try(t.Context(), args...)
	require.ErrorContains(t, err, "(Forbidden)", "%s: %v", u.name, args)
}

// eventuallyMay waits for the controller that aggregates ClusterRoles.
func (u user) eventuallyMay(t *testing.T, verb, resource string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		_, err := u.try(ctx, "auth", "can-i", verb, resource)
		return err
	})
}
