package status

import "sigs.k8s.io/controller-runtime/pkg/client"

// An Option changes one call of Patch.
type Option func(*options)

type options struct {
	live  client.Reader
	write []client.SubResourcePatchOption
}

// Live makes Patch resolve conflicts: Patch reads the object again with reader and calls
// mutate again. The reader should read from the API server, as a manager's GetAPIReader
// does, and not from a cache. After five attempts Patch returns the Conflict.
//
// mutate must assign only the fields that it decides. If it assigns a whole status or list that was
// computed before, Patch sends the difference to the object as it was read again, and so overwrites what
// others wrote meanwhile.
func Live(reader client.Reader) Option {
	return func(o *options) { o.live = reader }
}

// FieldOwner sets the field manager of the write, as recorded in managedFields. The default is
// that of the client.
func FieldOwner(name string) Option {
	return func(o *options) { o.write = append(o.write, client.FieldOwner(name)) }
}
