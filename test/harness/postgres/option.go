package postgres

// An Option changes the server that [Start] starts.
type Option func(*options)

type options struct {
	programs string
	settings []string
}

func newOptions(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Programs names the folder of the server's programs, initdb and postgres, which are
// then looked for nowhere else.
func Programs(folder string) Option {
	return func(o *options) { o.programs = folder }
}

// Setting sets a parameter of the server's configuration, such as max_connections, and overrides
// this package's own settings. A server that the environment names cannot be configured: [Start]
// then returns an error that wraps [errors.ErrUnsupported].
func Setting(name, value string) Option {
	return func(o *options) { o.settings = append(o.settings, name+"="+value) }
}
