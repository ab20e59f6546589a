// Package ensuretest is for the tests of operators that are built on trueup: it runs a
// reconcile until it stops writing, counts requests, and plays the API server.
//
//	func TestWebsiteConverges(t *testing.T) {
//		site := &v1.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site"}}
//		c := ensuretest.NewClient(scheme, site)
//		r := reconcile.AsReconciler(c, controller.New(c, c.APIReader())) // as with a manager's GetClient and GetAPIReader
//		pass := func(ctx context.Context) error {
//			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(site)})
//			return err
//		}
//
//		ensuretest.Converge(t, c, pass)                // until a pass writes nothing
//		require.Empty(t, ensuretest.Converge(t, c, pass)) // from then on, no request at all
//
//		deployment := &appsv1.Deployment{}
//		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(site), deployment))
//		deployment.Spec.Replicas = new(int32(7)) // by hand
//		require.NoError(t, c.Update(t.Context(), deployment))
//
//		requests := ensuretest.Converge(t, c, pass)
//		require.Len(t, requests, 1)
//		require.Equal(t, "apply Deployment default/site: spec.replicas 7 -> 2", requests[0].String())
//	}
//
// # What converges
//
// A pass is one call of the reconcile. A reconcile that writes in each pass keeps the API
// server, and itself, busy for ever: each write is an event that wakes it again. Most often
// it is a time or a counter that is new in each pass, in an annotation, in a pod template or
// in a condition; or names that alternate; or an update that the server finds to be none.
// Converge fails the test of such a reconciler and tells the objects and the paths that the
// last passes wrote. Of the values it shows numbers and booleans only.
//
// Most times that are written have whole seconds, metav1.Time among them, and the passes of
// a test take a millisecond. So a call of Converge that wrote is not done before a pass in
// another second wrote nothing either. For that it waits, a second at most, and three times
// at most before it fails; in a testing/synctest bubble it takes no time. A call that has
// nothing to write is done with its first pass.
//
// # What a request is
//
// What an operator reads from its manager's client comes from a cache and costs nothing; what
// it writes, and what it reads from the manager's GetAPIReader, are requests. A Client makes
// the same difference: reads through it are not counted, reads through its APIReader are.
// Without a manager, where each read goes to the server, the reads through the Client are
// requests that are not counted.
//
// Count does that for any client and reader: with envtest, for those of a manager.
//
// # The fake client
//
// NewClient needs no cluster. It is controller-runtime's fake client with what that lacks:
//
//   - objects have a UID, a creationTimestamp, and the generation that their kind has on a
//     server: it moves with the content and the deletion, not with metadata and status;
//   - the resourceVersion moves only with a change; a write that changes nothing answers with
//     the version that is there. One counter serves all objects;
//   - every custom kind whose Go type has a status has the status subresource;
//   - an apply of Kubernetes' own kinds is held against their schema: unknown fields, wrong
//     types and keys that are there twice are refused, a NetworkPolicy is not, and empty lists
//     mean what they say;
//   - a strategic merge patch of a custom kind is refused, and its update without a
//     resourceVersion; so is a deletion of all objects in all namespaces;
//   - a request that is refused leaves the caller's object as it was;
//   - an apply with a resourceVersion creates or is refused, one with another object's UID is
//     refused; so are updates and deletions of another UID, and JSON patches whose test fails;
//   - of Kubernetes' own kinds, what has to be in a namespace is refused without one, and
//     what is in none is taken out of it;
//   - what is going gets no new finalizers;
//   - managedFields are there, those of subresources apart; a Secret's stringData becomes
//     data; a dry run answers with what would be, and does nothing.
//
// That its answers are the server's is tested with 50 children of 42 kinds, step by step of
// their lives, and request by request. What is left is different, and shows in these tests:
//
//   - It fills in no defaults: a Deployment has no strategy unless it was given one, and a
//     change is reported where the default would have been the other half of it.
//   - It validates nothing but the fields, types and keys of an apply, so that neither
//     ensure.ErrInvalid for a bad value nor ensure.ErrImmutable come up, and an edited
//     Service port stays beside ours.
//   - Lists of custom kinds are replaced as a whole, as no CRD says that they have keys: an
//     item that somebody adds is drift.
//   - A kind that is not in the scheme has no status subresource; register it, if need be
//     as unstructured.
//   - What is of a custom kind need not be in a namespace: nothing says whether it has to.
//   - The first update of a claim moves its resourceVersion on a server, even if it changes
//     nothing; here it does not.
//   - Each version of a kind has objects of its own, as nothing converts them.
//   - A list with a field selector needs an index, even by metadata.name: fake.AddIndex makes
//     one. A watch has no selector.
//   - A namespace need not exist, and none is ever terminating.
//   - What is deleted is gone at once, whatever the propagation, unless it has finalizers of
//     its own; there is no garbage collector, and no other controller: no pods, no status, no
//     claims that are bound. A test plays them.
//
// There are no admission policies, quotas and rights either, nor is a cache ever behind:
// that takes a cluster, or controller-runtime's interceptor around the Client.
package ensuretest
