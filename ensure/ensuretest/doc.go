// Package ensuretest helps to test operators that use trueup. It runs a reconciler until the reconciler
// stops writing, records requests, and has a fake API server.
//
//	func TestWebsiteConverges(t *testing.T) {
//		site := &v1.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site"}}
//		c := ensuretest.NewClient(scheme, site)
//		r := reconcile.AsReconciler(c, controller.New(c, c.APIReader())) // as with a manager's clients
//		pass := func(ctx context.Context) error {
//			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(site)})
//			return err
//		}
//
//		ensuretest.Converge(t, c, pass)                // until a pass writes nothing
//		require.Empty(t, ensuretest.Converge(t, c, pass)) // then no request at all
//
//		deployment := &appsv1.Deployment{}
//		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(site), deployment))
//		deployment.Spec.Replicas = new(int32(7)) // an edit by hand
//		require.NoError(t, c.Update(t.Context(), deployment))
//
//		requests := ensuretest.Converge(t, c, pass)
//		require.Len(t, requests, 1)
//		require.Equal(t, "apply Deployment default/site: spec.replicas 7 -> 2", requests[0].String())
//	}
//
// # Convergence
//
// A pass is one call of Reconcile. A reconciler that writes in each pass never stops: each write causes
// an event that triggers the next reconcile. Common causes are a time or a counter in an annotation, in
// a pod template or in a condition, names that alternate, and an update that changes nothing. Converge
// fails the test of such a reconciler and names the objects and the paths that the last passes wrote.
//
// # Requests
//
// An operator's reads through the client of its manager come from a cache and cost nothing. Its writes,
// and its reads through the manager's GetAPIReader, are requests. A Client counts in the same way. Count
// returns such a Client for any client and reader, such as those of a manager with envtest.
//
// # The fake client
//
// NewClient needs no cluster. It is controller-runtime's fake client with the additions that
// [ensuretest.md] lists. These differences from an API server remain:
//
//   - There are no defaults: a Deployment has no strategy unless one was set, and a change is
//     reported where the default would have been one of the two values.
//   - Only the fields, types and keys of an apply are validated. So neither ensure.ErrInvalid for a bad
//     value nor ensure.ErrImmutable occurs, and an edited Service port stays beside ours.
//   - Lists of custom kinds are replaced as a whole, as no CRD defines their keys. An item that somebody
//     adds is drift, and changes name items by their indexes.
//   - A kind that is not in the scheme has no status subresource. Register the kind, as unstructured
//     if necessary.
//   - An object of a custom kind needs no namespace, as nothing says whether the kind is namespaced.
//   - On a server, the first update of a PersistentVolumeClaim changes the resourceVersion even if it
//     changes nothing; here, it does not.
//   - Since Kubernetes 1.37, a HorizontalPodAutoscaler has a generation; here, and before, it has none.
//   - A refusal can list the same cause twice: for another UID, and for a new finalizer of an object that
//     is being deleted. Since Kubernetes 1.37, an API server does not repeat a cause.
//   - Each version of a kind has its own objects, as nothing converts them.
//   - A list with a field selector needs an index, even by metadata.name: fake.AddIndex makes one. A
//     watch has no selector.
//   - A namespace need not exist, and none is ever terminating.
//   - A deleted object is gone at once, whatever the propagation, unless it has finalizers. There
//     is no garbage collector and no other controller: no pods, no status, no bound claims. A test
//     has to write these.
//
// There are no admission policies, quotas and permissions, and the cache is never outdated. To test
// these, use a cluster, or controller-runtime's interceptor around the Client.
//
// [ensuretest.md]: https://github.com/trueup-go/trueup/blob/main/docs/ensuretest.md
package ensuretest
