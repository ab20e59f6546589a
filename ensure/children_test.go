package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
)

func ExampleChildren() {
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "site", UID: "site"}}
	owner := []metav1.OwnerReference{{UID: site.UID, Controller: new(true)}}
	reader := fake.NewFakeClient( // in an operator: mgr.GetClient()
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "web", OwnerReferences: owner}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "web", OwnerReferences: owner}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "other"}},
	)

	children, err := ensure.Children(context.Background(), reader, site, &appsv1.DeploymentList{}, &corev1.ServiceList{})
	for _, child := range children {
		fmt.Printf("%T %s\n", child, child.GetName())
	}
	fmt.Println(err)
	// Output:
	// *v1.Deployment web
	// *v1.Service web
	// <nil>
}

func TestChildren(t *testing.T) {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner", UID: "1"}}
	namespaced := func(namespace, name, uid string) metav1.ObjectMeta {
		ref := metav1.OwnerReference{UID: "1", Controller: new(uid == "1")}
		if uid == "2" {
			ref = metav1.OwnerReference{UID: "2", Controller: new(true)}
		}
		return metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{ref}}
	}
	c := fake.NewFakeClient(
		&corev1.Service{ObjectMeta: namespaced("default", "b", "1")}, &corev1.Service{ObjectMeta: namespaced("default", "a", "1")},
		&corev1.Service{ObjectMeta: namespaced("default", "of another owner", "2")},
		&corev1.Service{ObjectMeta: namespaced("default", "of an owner that is no controller", "")},
		&corev1.Service{ObjectMeta: namespaced("elsewhere", "c", "1")}, &appsv1.Deployment{ObjectMeta: namespaced("default", "z", "1")},
	)
	namesOf := func(children []client.Object) (names []string) {
		for _, child := range children {
			names = append(names, child.GetName())
		}
		return names
	}
	children, err := ensure.Children(t.Context(), c, owner, &appsv1.DeploymentList{}, &corev1.ServiceList{})
	require.NoError(t, err)
	require.Equal(t, []string{"z", "a", "b"}, namesOf(children))

	clusterWide := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "owner", UID: "1"}}
	children, err = ensure.Children(t.Context(), c, clusterWide, &corev1.ServiceList{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, namesOf(children))

	down := errors.New("out of reach")
	broken := interceptor.NewClient(c, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return down
	}})
	children, err = ensure.Children(t.Context(), broken, owner, &corev1.ServiceList{})
	require.ErrorIs(t, err, down)
	require.EqualError(t, err, `cannot list the children of "default/owner": out of reach`)
	require.Nil(t, children)

	for _, call := range []func() ([]client.Object, error){
		func() ([]client.Object, error) { return ensure.Children(t.Context(), nil, owner) },
		func() ([]client.Object, error) { return ensure.Children(t.Context(), c, nil) },
	} {
		_, err = call()
		require.ErrorIs(t, err, ensure.ErrRefused)
	}
}
