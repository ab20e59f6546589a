// Package observer tells the test kit of errors that a reconcile does not return, as it hands
// them to ensure.Retry.
package observer

import "context"

type key struct{}

// With returns a context that has Report call observe, which has to be safe for concurrent use.
func With(ctx context.Context, observe func(error)) context.Context {
	return context.WithValue(ctx, key{}, observe)
}

// Report calls the observer of ctx, if there is one.
func Report(ctx context.Context, err error) {
	if observe, ok := ctx.Value(key{}).(func(error)); ok {
		observe(err)
	}
}
