package ensure

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A claim says whose an object is.
type claim struct {
	ours    bool          // to write
	adopted bool          // by us: somebody else created live
	live    client.Object // with its managed fields, if they had to be known
}
