package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/status/readiness"
)

// ensureMongoDBService ensures the Service mongodb-service, or that store has none, and returns what the condition says.
// Unlike the other children, the Service has a fixed name. If somebody else has it, or nobody asks for it, it is no child
// of store.
func (r *Reconciler) ensureMongoDBService(
	ctx context.Context, store *v1alpha1.BookStore, desired *children,
) (readiness.Readiness, error) {
	service := desired.mongoDBService
	if !ptr.Deref(store.Spec.BookDB.MongoDBService, true) {
		desired.mongoDBService = nil
		_, err := ensure.Absent(ctx, r.ensure, service, ensure.ControlledBy(store))
		return notReady(v1alpha1.ReasonTurnedOff, "spec.bookDB.mongodbService is false"), err
	}
	_, err := ensure.Object(ctx, r.ensure, service, ensure.ControlledBy(store))
	if errors.Is(err, ensure.ErrForeign) {
		desired.mongoDBService = nil
	}
	if err != nil {
		return failed(err), err
	}
	return readiness.Readiness{
		State: readiness.Ready, Reason: v1alpha1.ReasonFound, Message: fmt.Sprintf("Service %q leads to the first database", service.Name),
	}, nil
}
