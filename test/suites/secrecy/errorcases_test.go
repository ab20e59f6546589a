package secrecy_test

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/testclock"
)

// An errorCase brings about one error of class, and of reason if class is ErrAPI.
type errorCase struct {
	name   string
	class  error
	reason string
	do     func(f *fixture) error
}

// deny has the webhook refuse obj.
func deny[T client.Object](obj T) T {
	annotations := obj.GetAnnotations()
	annotations[denied] = "yes"
	obj.SetAnnotations(annotations)
	return obj
}

var errorCases = []errorCase{
	{"no name", ensure.ErrRefused, "", func(f *fixture) error {
		return f.object(with(f.secret(""), func(o *corev1.Secret) { o.GenerateName = "x-" }))
	}},
	{"a name in the environment that occurs twice", ensure.ErrRefused, "", func(f *fixture) error {
		return f.object(with(f.deployment("twice"), func(o *appsv1.Deployment) {
			container := &o.Spec.Template.Spec.Containers[0]
			container.Env = append(container.Env, container.Env[0])
		}))
	}},
	{"content that cannot be encoded", ensure.ErrRefused, "", func(f *fixture) error {
		return f.object(&appsv1.ControllerRevision{
			ObjectMeta: f.meta("revision"), Data: runtime.RawExtension{Raw: []byte(`{"password": ` + secretText)},
		})
	}},
	{"a digest that cannot be computed", ensure.ErrRefused, "", func(f *fixture) error {
		_, err := hash.Object(&appsv1.ControllerRevision{
			ObjectMeta: f.meta("revision"), Data: runtime.RawExtension{Raw: []byte(secretText)},
		})
		require.Error(f.t, err)
		f.report(err)
		return f.object(&appsv1.ControllerRevision{ObjectMeta: f.meta("revision"), Data: runtime.RawExtension{Raw: []byte(secretText)}})
	}},
	{"a value that the server does not take", ensure.ErrInvalid, "", func(f *fixture) error {
		return f.object(with(f.deployment("value"), func(o *appsv1.Deployment) {
			o.Spec.Template.Spec.Containers[0].Env[0].ValueFrom = &corev1.EnvVarSource{}
			o.Spec.Template.Spec.Containers[0].ImagePullPolicy = secretText
		}))
	}},
	{"a label that the server does not take", ensure.ErrInvalid, "", func(f *fixture) error {
		return f.object(with(f.secret("label"), func(o *corev1.Secret) { o.Labels["note"] = secretText + " !" }))
	}},
	{"a field that there is not", ensure.ErrInvalid, "", func(f *fixture) error {
		return f.object(f.untyped("unknown", func(spec map[string]any) { spec["password"] = secretText }))
	}},
	{"a value of the wrong type", ensure.ErrInvalid, "", func(f *fixture) error {
		return f.object(f.untyped("type", func(spec map[string]any) { spec["replicas"] = secretText }))
	}},
	{"a value of another wrong type", ensure.ErrInvalid, "", func(f *fixture) error {
		return f.object(f.untyped("types", func(spec map[string]any) { spec["template"] = secretText }))
	}},
	{"a field that cannot be changed", ensure.ErrImmutable, "", func(f *fixture) error {
		secret := func(password string) *corev1.Secret {
			return with(f.secret("immutable"), func(o *corev1.Secret) {
				o.Immutable, o.Data["password"] = new(true), []byte(password)
			})
		}
		require.NoError(f.t, f.object(secret("before "+secretText)))
		return f.object(secret("after " + secretText))
	}},
	{"somebody else's", ensure.ErrForeign, "", func(f *fixture) error {
		require.NoError(f.t, f.admin.Create(f.ctx, f.secret("foreign")))
		return f.object(f.secret("foreign"))
	}},
	{"on its way out", ensure.ErrTerminating, "", func(f *fixture) error {
		require.NoError(f.t, f.object(with(f.secret("going"), func(o *corev1.Secret) { o.Finalizers = []string{"example.com/wait"} })))
		require.NoError(f.t, f.admin.Delete(f.ctx, f.secret("going")))
		f.t.Cleanup(func() { f.unfinalize(context.Background(), f.secret("going")) })
		return f.object(f.secret("going"))
	}},
	{"an owner on its way out", ensure.ErrOwnerTerminating, "", func(f *fixture) error {
		owner := with(f.configMap("owner"), func(o *corev1.ConfigMap) { o.Finalizers = []string{"example.com/wait"} })
		require.NoError(f.t, f.admin.Create(f.ctx, owner))
		require.NoError(f.t, f.admin.Delete(f.ctx, owner))
		require.NoError(f.t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(owner), owner))
		f.t.Cleanup(func() { f.unfinalize(context.Background(), owner) })
		_, err := ensure.Object(f.ctx, f.ensure, f.secret("late"), ensure.ControlledBy(owner))
		return err
	}},
	{"undone again and again", ensure.ErrContested, "", func(f *fixture) error {
		var err error
		for range 10 {
			if err = f.object(f.configMap("contested")); err != nil {
				break
			}
			rival := with(f.configMap("contested"), func(o *corev1.ConfigMap) { o.Data["password"] = "rival " + secretText })
			require.NoError(f.t, f.admin.Patch(f.ctx, rival, client.Merge, client.FieldOwner("rival")))
		}
		return err
	}},
	{"hidden by the cache", ensure.ErrHidden, "", func(f *fixture) error {
		require.NoError(f.t, f.object(f.secret("hidden")))
		blind := interceptor.NewClient(f.watching(), interceptor.Funcs{Get: func(
			_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption,
		) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
		}})
		clock := testingclock.NewFakePassiveClock(time.Now())
		e := f.ensurer(blind, testclock.With[ensure.Setting](clock))
		require.NoError(f.t, f.objectBy(e, f.secret("hidden")))
		clock.SetTime(clock.Now().Add(time.Hour))
		return f.objectBy(e, f.secret("hidden"))
	}},
	{"a value that a custom kind does not have", ensure.ErrInvalid, "", func(f *fixture) error {
		return f.object(f.safe("value", secretText))
	}},
	{"a value that cannot be changed to", ensure.ErrInvalid, "", func(f *fixture) error {
		require.NoError(f.t, f.object(f.safe("changing", "Old")))
		return f.object(f.safe("changing", secretText))
	}},
	{"a webhook objects to a custom kind", ensure.ErrAPI, "Forbidden", func(f *fixture) error {
		return f.object(deny(f.safe("denied", "Old")))
	}},
	{"a webhook objects to a creation", ensure.ErrAPI, "Forbidden", func(f *fixture) error {
		return f.object(deny(f.secret("denied")))
	}},
	{"a webhook objects to a change", ensure.ErrAPI, "Forbidden", func(f *fixture) error {
		require.NoError(f.t, f.object(f.secret("change")))
		return f.object(deny(f.secret("change")))
	}},
	{"a webhook objects to one of a set", ensure.ErrAPI, "Forbidden", func(f *fixture) error {
		children := []client.Object{f.secret("first"), deny(f.configMap("second"))}
		made, err := ensure.Set(f.ctx, f.ensure, f.vault, children, ensure.Prune(&corev1.ConfigMap{}))
		for _, child := range made.Children {
			f.note(child)
		}
		return err
	}},
	{"a permission is missing", ensure.ErrAPI, "Forbidden", func(f *fixture) error {
		return f.objectBy(f.ensurer(f.nobody()), f.secret("right"))
	}},
	{"a namespace that there is not", ensure.ErrAPI, "NotFound", func(f *fixture) error {
		_, err := ensure.Object(f.ctx, f.ensure, with(f.secret("nowhere"), func(o *corev1.Secret) { o.Namespace = "nowhere" }))
		return err
	}},
	{"changed again and again", ensure.ErrAPI, "Conflict", func(f *fixture) error {
		late := interceptor.NewClient(f.watching(), interceptor.Funcs{Patch: func(
			_ context.Context, _ client.WithWatch, obj client.Object, _ client.Patch, _ ...client.PatchOption,
		) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, obj.GetName(), errors.New(secretText))
		}})
		return f.objectBy(f.ensurer(late), f.secret("changed"))
	}},
	{"no server", ensure.ErrAPI, "Unavailable", func(f *fixture) error {
		config := rest.CopyConfig(shared.Config())
		config.Host = "https://admin:" + secretText + "@127.0.0.1:1"
		nowhere, err := client.New(config, client.Options{Scheme: f.scheme, Mapper: f.admin.RESTMapper()})
		require.NoError(f.t, err)
		return f.objectBy(ensure.New(nowhere, nowhere, operator), f.secret("server"))
	}},
	{"no time", ensure.ErrAPI, "Unavailable", func(f *fixture) error {
		ctx, cancel := context.WithTimeout(f.ctx, time.Nanosecond)
		defer cancel()
		_, err := ensure.Object(ctx, f.ensure, f.secret("time"), ensure.ControlledBy(f.vault))
		return err
	}},
	{"nobody answers", ensure.ErrAPI, "Unavailable", func(f *fixture) error {
		config := rest.CopyConfig(shared.Config())
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return brokenTransport{} })
		silent, err := client.New(config, client.Options{Scheme: f.scheme, Mapper: f.admin.RESTMapper()})
		require.NoError(f.t, err)
		return f.objectBy(ensure.New(silent, silent, operator), f.secret("silent"))
	}},
}

// brokenTransport is a connection that breaks.
type brokenTransport struct{}

func (brokenTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, http.ErrHandlerTimeout
}
