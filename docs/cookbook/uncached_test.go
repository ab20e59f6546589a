package cookbook_test

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// newCachedEnsurer returns an Ensurer that reads children of all kinds from the manager's cache, also of those kinds that
// the manager's client does not read there.
func newCachedEnsurer(mgr ctrl.Manager) (*ensure.Ensurer, error) {
	c, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		Cache: &client.CacheOptions{
			Reader:                          mgr.GetCache(),
			Unstructured:                    true,
			EnableReadYourWritesConsistency: new(true),
		},
	})
	if err != nil {
		return nil, err
	}
	return ensure.New(c, mgr.GetAPIReader(), "shop-operator"), nil
}
