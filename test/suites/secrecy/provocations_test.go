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
)

// A provocation brings about one error of class, and of reason if class is ErrAPI.
type provocation struct {
	name   string
	class  error
	reason string
	do     func(s *scene) error
}

// deny has the webhook refuse obj.
func deny[T client.Object](obj T) T {
	annotations := obj.GetAnnotations()
	annotations[denied] = "yes"
	obj.SetAnnotations(annotations)
	return obj
}

var provocations = []provocation{
	{"no name", ensure.ErrRefused, "", func(s *scene) error {
		return s.object(with(s.secret(""), func(o *corev1.Secret) { o.GenerateName = "x-" }))
	}},
	{"a name in the environment that occurs twice", ensure.ErrRefused, "", func(s *scene) error {
		return s.object(with(s.deployment("twice"), func(o *appsv1.Deployment) {
			container := &o.Spec.Template.Spec.Containers[0]
			container.Env = append(container.Env, container.Env[0])
		}))
	}},
	{"content that cannot be encoded", ensure.ErrRefused, "", func(s *scene) error {
		return s.object(&appsv1.ControllerRevision{
			ObjectMeta: s.meta("revision"), Data: runtime.RawExtension{Raw: []byte(`{"password": ` + mark)},
		})
	}},
	{"a digest that cannot be computed", ensure.ErrRefused, "", func(s *scene) error {
		_, err := hash.Object(&appsv1.ControllerRevision{
			ObjectMeta: s.meta("revision"), Data: runtime.RawExtension{Raw: []byte(mark)},
		})
		require.Error(s.t, err)
		s.report(err)
		return s.object(&appsv1.ControllerRevision{ObjectMeta: s.meta("revision"), Data: runtime.RawExtension{Raw: []byte(mark)}})
	}},
	{"a value that the server does not take", ensure.ErrInvalid, "", func(s *scene) error {
		return s.object(with(s.deployment("value"), func(o *appsv1.Deployment) {
			o.Spec.Template.Spec.Containers[0].Env[0].ValueFrom = &corev1.EnvVarSource{}
			o.Spec.Template.Spec.Containers[0].ImagePullPolicy = mark
		}))
	}},
	{"a label that the server does not take", ensure.ErrInvalid, "", func(s *scene) error {
		return s.object(with(s.secret("label"), func(o *corev1.Secret) { o.Labels["note"] = mark + " !" }))
	}},
	{"a field that there is not", ensure.ErrInvalid, "", func(s *scene) error {
		return s.object(s.untyped("unknown", func(spec map[string]any) { spec["password"] = mark }))
	}},
	{"a value of the wrong type", ensure.ErrInvalid, "", func(s *scene) error {
		return s.object(s.untyped("type", func(spec map[string]any) { spec["replicas"] = mark }))
	}},
	{"a value of another wrong type", ensure.ErrInvalid, "", func(s *scene) error {
		return s.object(s.untyped("types", func(spec map[string]any) { spec["template"] = mark }))
	}},
	{"a field that cannot be changed", ensure.ErrImmutable, "", func(s *scene) error {
		secret := func(password string) *corev1.Secret {
			return with(s.secret("immutable"), func(o *corev1.Secret) {
				o.Immutable, o.Data["password"] = new(true), []byte(password)
			})
		}
		require.NoError(s.t, s.object(secret("before "+mark)))
		return s.object(secret("after " + mark))
	}},
	{"somebody else's", ensure.ErrForeign, "", func(s *scene) error {
		require.NoError(s.t, s.human.Create(s.ctx, s.secret("foreign")))
		return s.object(s.secret("foreign"))
	}},
	{"on its way out", ensure.ErrTerminating, "", func(s *scene) error {
		require.NoError(s.t, s.object(with(s.secret("going"), func(o *corev1.Secret) { o.Finalizers = []string{"example.com/wait"} })))
		require.NoError(s.t, s.human.Delete(s.ctx, s.secret("going")))
		s.t.Cleanup(func() { s.unfinalize(context.Background(), s.secret("going")) })
		return s.object(s.secret("going"))
	}},
	{"an owner on its way out", ensure.ErrOwnerTerminating, "", func(s *scene) error {
		owner := with(s.configMap("owner"), func(o *corev1.ConfigMap) { o.Finalizers = []string{"example.com/wait"} })
		require.NoError(s.t, s.human.Create(s.ctx, owner))
		require.NoError(s.t, s.human.Delete(s.ctx, owner))
		require.NoError(s.t, s.human.Get(s.ctx, client.ObjectKeyFromObject(owner), owner))
		s.t.Cleanup(func() { s.unfinalize(context.Background(), owner) })
		_, err := ensure.Object(s.ctx, s.ensure, s.secret("late"), ensure.ControlledBy(owner))
		return err
	}},
	{"undone again and again", ensure.ErrContested, "", func(s *scene) error {
		var err error
		for range 10 {
			if err = s.object(s.configMap("contested")); err != nil {
				break
			}
			rival := with(s.configMap("contested"), func(o *corev1.ConfigMap) { o.Data["password"] = "rival " + mark })
			require.NoError(s.t, s.human.Patch(s.ctx, rival, client.Merge, client.FieldOwner("rival")))
		}
		return err
	}},
	{"hidden by the cache", ensure.ErrHidden, "", func(s *scene) error {
		require.NoError(s.t, s.object(s.secret("hidden")))
		blind := interceptor.NewClient(s.watching(), interceptor.Funcs{Get: func(
			_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption,
		) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
		}})
		clock := testingclock.NewFakePassiveClock(time.Now())
		e := s.ensurer(blind, ensure.WithClock(clock))
		require.NoError(s.t, s.objectBy(e, s.secret("hidden")))
		clock.SetTime(clock.Now().Add(time.Hour))
		return s.objectBy(e, s.secret("hidden"))
	}},
	{"a value that a custom kind does not have", ensure.ErrInvalid, "", func(s *scene) error {
		return s.object(s.safe("value", mark))
	}},
	{"a value that cannot be changed to", ensure.ErrInvalid, "", func(s *scene) error {
		require.NoError(s.t, s.object(s.safe("changing", "Old")))
		return s.object(s.safe("changing", mark))
	}},
	{"a webhook objects to a custom kind", ensure.ErrAPI, "Forbidden", func(s *scene) error {
		return s.object(deny(s.safe("denied", "Old")))
	}},
	{"a webhook objects to a creation", ensure.ErrAPI, "Forbidden", func(s *scene) error {
		return s.object(deny(s.secret("denied")))
	}},
	{"a webhook objects to a change", ensure.ErrAPI, "Forbidden", func(s *scene) error {
		require.NoError(s.t, s.object(s.secret("change")))
		return s.object(deny(s.secret("change")))
	}},
	{"a webhook objects to one of a set", ensure.ErrAPI, "Forbidden", func(s *scene) error {
		children := []client.Object{s.secret("first"), deny(s.configMap("second"))}
		made, err := ensure.Set(s.ctx, s.ensure, s.vault, children, ensure.Prune(&corev1.ConfigMap{}))
		for _, child := range made.Children {
			s.note(child)
		}
		return err
	}},
	{"a permission is missing", ensure.ErrAPI, "Forbidden", func(s *scene) error {
		return s.objectBy(s.ensurer(s.nobody()), s.secret("right"))
	}},
	{"a namespace that there is not", ensure.ErrAPI, "NotFound", func(s *scene) error {
		_, err := ensure.Object(s.ctx, s.ensure, with(s.secret("nowhere"), func(o *corev1.Secret) { o.Namespace = "nowhere" }))
		return err
	}},
	{"changed again and again", ensure.ErrAPI, "Conflict", func(s *scene) error {
		late := interceptor.NewClient(s.watching(), interceptor.Funcs{Patch: func(
			_ context.Context, _ client.WithWatch, obj client.Object, _ client.Patch, _ ...client.PatchOption,
		) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, obj.GetName(), errors.New(mark))
		}})
		return s.objectBy(s.ensurer(late), s.secret("changed"))
	}},
	{"no server", ensure.ErrAPI, "Unavailable", func(s *scene) error {
		config := rest.CopyConfig(shared.Config())
		config.Host = "https://admin:" + mark + "@127.0.0.1:1"
		nowhere, err := client.New(config, client.Options{Scheme: s.scheme, Mapper: s.human.RESTMapper()})
		require.NoError(s.t, err)
		return s.objectBy(ensure.New(nowhere, nowhere, operator), s.secret("server"))
	}},
	{"no time", ensure.ErrAPI, "Unavailable", func(s *scene) error {
		ctx, cancel := context.WithTimeout(s.ctx, time.Nanosecond)
		defer cancel()
		_, err := ensure.Object(ctx, s.ensure, s.secret("time"), ensure.ControlledBy(s.vault))
		return err
	}},
	{"nobody answers", ensure.ErrAPI, "Unavailable", func(s *scene) error {
		config := rest.CopyConfig(shared.Config())
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return broken{} })
		silent, err := client.New(config, client.Options{Scheme: s.scheme, Mapper: s.human.RESTMapper()})
		require.NoError(s.t, err)
		return s.objectBy(ensure.New(silent, silent, operator), s.secret("silent"))
	}},
}

// broken is a connection that breaks.
type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }
