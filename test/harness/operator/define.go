package operator

import (
	"context"
	"path/filepath"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// Define installs the custom kinds of the operators called names, and returns when they are
// established. Install does so for its own operator. Call Define before the first Install if
// several operators are installed: the admission plugin OwnerReferencesPermissionEnforcement learns
// the kinds when it first sees an owner, and then every 30 s. Until then, it refuses children of an
// owner of an unknown kind.
func Define(ctx context.Context, c *cluster.Cluster, names ...string) error {
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return err
	}
	module, err := moduleDir(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		kind, err := output(ctx, "", kubectl, "--kubeconfig", c.Kubeconfig(),
			"apply", "--server-side", "--output=name", "--kustomize", filepath.Join(module, name, "config", "crd"))
		if err != nil {
			return err
		}
		if _, err := output(ctx, "", kubectl, "--kubeconfig", c.Kubeconfig(), "wait", "--for=condition=Established", kind); err != nil {
			return err
		}
	}
	return nil
}
