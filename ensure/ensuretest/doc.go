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
// It shows the values of numbers and booleans only.
//
// Most times that operators write have a resolution of one second, like metav1.Time, and a pass of a
// test takes a millisecond. So after a write, Converge also requires a pass without a write in a later
// second. It waits for that second, at most one second each time. After three such passes that
// wrote, it fails. In a testing/synctest bubble, the wait takes no time. A call of Converge that writes nothing
// ends after its first pass.
//
// # Requests
//
// An operator's reads through the client of its manager come from a cache and cost nothing. Its writes,
// and its reads through the manager's GetAPIReader, are requests. A Client counts in the same way:
// reads through the Client do not count, and reads through its APIReader do. Without a manager, each
// read is a request to the server, but reads through the Client still do not count.
//
// Count returns such a Client for any client and reader, such as those of a manager with envtest.
//
// # The fake client
//
// NewClient needs no cluster. It is controller-runtime's fake client with additions:
//
//   - Objects have a UID, a creationTimestamp and, if their kind has one, a generation, which changes
//     with the content and the deletion, and not with metadata and status.
//   - The resourceVersion changes only with the object. A write that changes nothing returns the
//     current version. One counter serves all objects.
//   - Every custom kind whose Go type has a status has the status subresource.
//   - An apply of a built-in kind other than NetworkPolicy is checked against its schema: unknown
//     fields, wrong types and duplicate keys are refused, and empty lists have their meaning.
//   - These requests are refused: a strategic merge patch of a custom kind, an update of a custom kind
//     without a resourceVersion, and a deletion of all objects in all namespaces.
//   - A refused request leaves the object of the caller unchanged.
//   - An apply with a resourceVersion creates or is refused. An apply, an update or a deletion with the
//     UID of another object is refused, and so is a JSON patch whose test fails.
//   - An object without a namespace is refused if its kind is built-in and namespaced. The namespace of
//     an object of a built-in cluster-scoped kind is dropped.
//   - New finalizers are refused for an object that is being deleted.
//   - Objects have managedFields, except for those of subresources. The stringData of a Secret becomes
//     data. A dry run returns the result and stores nothing.
//
// Tests compare the answers with those of a real API server, for 50 children of 42 kinds, step by step
// and request by request. These differences remain, and show in the tests:
//
//   - There are no defaults: a Deployment has no strategy unless one was set, and a change is
//     reported where the default would have been one of the two values.
//   - Only the fields, types and keys of an apply are validated. So neither ensure.ErrInvalid for a bad
//     value nor ensure.ErrImmutable occurs, and an edited Service port stays beside ours.
//   - Lists of custom kinds are replaced as a whole, as no CRD defines their keys. An item that somebody
//     adds is drift.
//   - A kind that is not in the scheme has no status subresource. Register the kind, as unstructured
//     if necessary.
//   - An object of a custom kind needs no namespace, as nothing says whether the kind is namespaced.
//   - On a server, the first update of a PersistentVolumeClaim changes the resourceVersion even if it
//     changes nothing; here, it does not.
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
package ensuretest
