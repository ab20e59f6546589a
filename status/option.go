package status

import "sigs.k8s.io/controller-runtime/pkg/client"

// An Option changes one call of Patch.
type Option func(*options)

type options struct {
	live  client.Reader
	write []client.SubResourcePatchOption
}

// Live has Patch settle conflicts: the object is read with reader, which should ask
// the server and no cache (a manager's GetAPIReader), and mutate is called again. After
// five tries the Conflict is returned.
func Live(reader client.Reader) Option {
	return func(o *options) { o.live = reader }
}

// FieldOwner names the writer in managedFields. Without it that is the client's default.
func FieldOwner(name string) Option {
	return func(o *options) { o.write = append(o.write, client.FieldOwner(name)) }
}
