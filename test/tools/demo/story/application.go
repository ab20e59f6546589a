package story

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
)

// The Application of the operator's sample, and its children.
const (
	appSample  = "examples/application/config/samples/application.sample_v1alpha1_application.yaml"
	app        = "application1"
	secret     = app + "-secret-greeting"
	deployment = app + "-deployment-microservice"
	service    = app + "-service-microservice"
	container  = app + "-microservice"
)

// alphaResource names Applications in the version of the sample.
const alphaResource = "applications.v1alpha1.application.sample.ibm.com"

// strangePort is none that the operator would choose.
const strangePort = 9999

// application is the story of reverted changes, and of changes that are left alone.
type application struct{ *story }

// Application tells how the operator of that name creates and recreates children.
func Application(ctx context.Context, env Env) (Summary, error) {
	s := application{&story{Env: env, mainObject: mainObject{
		kind: "Application", name: app, work: "children", makes: "object", deployment: deployment,
		blank:      func() client.Object { return &v1alpha1.Application{} },
		conditions: func(obj client.Object) []metav1.Condition { return obj.(*v1alpha1.Application).Status.Conditions },
	}}}
	watched := []client.ObjectList{
		&v1alpha1.ApplicationList{}, &corev1.SecretList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{},
	}
	return s.tell(ctx, watched, s.created, s.scaled, s.changed, s.deleted, s.edited, s.labeled,
		s.onOwn("an image that cannot be pulled. "+simulated, s.misspelled),
		s.onOwn("a change in another version. The API server would have to reach the webhook on this machine.", s.converted),
		s.reconcileUnchanged)
}

func (s application) created(ctx context.Context) error {
	s.title("An Application is created.")
	began := s.now(ctx)
	if err := s.run(ctx, "apply", "-f", appSample); err != nil {
		return err
	}
	var first, last loggedEvent
	err := s.expect(ctx, "a Secret, a Deployment and a Service", func(context.Context) (string, bool) {
		pages := began.seen()
		found := []int{
			find(pages, app, added[*v1alpha1.Application]),
			find(pages, secret, added[*corev1.Secret]),
			find(pages, deployment, added[*appsv1.Deployment]),
			find(pages, service, added[*corev1.Service]),
		}
		if missing := missing(found, "Application", "Secret", "Deployment", "Service"); missing != "" {
			return "no " + missing, false
		}
		first, last = pages[found[0]], pages[slices.Max(found[1:])]
		return "", true
	})
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("Secret, Deployment and Service %s after it", took(first, last)))
	return s.tellRest(ctx, began)
}

func (s application) scaled(ctx context.Context) error {
	s.title("Somebody scales the Deployment by hand, behind the Application's back.")
	began := s.now(ctx)
	if err := s.run(ctx, "scale", "deployment", deployment, "--replicas=5"); err != nil {
		return err
	}
	lasted, err := undone(ctx, s.story, began, deployment, "5 replicas to be 1 again", "5 replicas", replicas(5))
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("5 replicas for %s, then 1 again", lasted))
	return s.tellRest(ctx, began)
}

func (s application) changed(ctx context.Context) error {
	resource, replicasField := "application", "replicas"
	if s.Own == nil { // and no webhook converts
		resource, replicasField = alphaResource, "amountPods"
		s.title("The Application gets another image and three pods.")
	} else {
		s.title("The Application gets another image and three pods. kubectl uses version v1beta1, in which amountPods is replicas.")
	}
	began := s.now(ctx)
	const image = "docker.io/nheidloff/simplemicroservice:v1.0.118"
	patch := fmt.Sprintf(`{"spec":{"image":%q,%q:3}}`, image, replicasField)
	if err := s.run(ctx, "patch", resource, app, "--type=merge", "--patch", patch); err != nil {
		return err
	}
	err := s.expect(ctx, "3 replicas of the new image", func(context.Context) (string, bool) {
		i := find(began.seen(), deployment, func(_ watch.EventType, d *appsv1.Deployment) bool {
			return replicas(3)(d) && imageOf(d) == image
		})
		return "the Deployment as it was", i >= 0
	})
	if err != nil {
		return err
	}
	s.fact("seen", "3 replicas of the new image")
	return s.tellRest(ctx, began)
}

func (s application) deleted(ctx context.Context) error {
	s.title("Somebody deletes the Service.")
	began := s.now(ctx)
	if err := s.run(ctx, "delete", "service", service); err != nil {
		return err
	}
	var gone, back loggedEvent
	err := s.expect(ctx, "a new Service", func(context.Context) (string, bool) {
		pages := began.seen()
		i := find(pages, service, func(event watch.EventType, _ *corev1.Service) bool { return event == watch.Deleted })
		if i < 0 {
			return "the old Service", false
		}
		j := find(pages[i:], service, added[*corev1.Service])
		if j < 0 {
			return "no Service", false
		}
		gone, back = pages[i], pages[i+j]
		return "", true
	})
	if err != nil {
		return err
	}
	if gone.object.GetUID() == back.object.GetUID() {
		return fmt.Errorf("expected a new Service; seen: the one with the old UID %s", gone.object.GetUID())
	}
	s.fact("seen", fmt.Sprintf("a new Service %s after the old one was gone", took(gone, back)))
	return s.tellRest(ctx, began)
}

func (s application) edited(ctx context.Context) error {
	s.title("Somebody edits the Service's port. A merge would leave two ports of one name, which the server refuses.")
	began := s.now(ctx)
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/ports/0/port","value":%d}]`, strangePort)
	if err := s.run(ctx, "patch", "service", service, "--type=json", "--patch", patch); err != nil {
		return err
	}
	lasted, err := undone(ctx, s.story, began, service, "the port to be put back", "the edited port",
		func(svc *corev1.Service) bool { return svc.Spec.Ports[0].Port == strangePort })
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("port %d for %s, then the right one again", strangePort, lasted))
	return s.tellRest(ctx, began)
}

func (s application) labeled(ctx context.Context) error {
	s.title("Somebody labels the Deployment, which is their business, and changes its image, which is not.")
	began := s.now(ctx)
	if err := s.run(ctx, "label", "deployment", deployment, "team=blue"); err != nil {
		return err
	}
	if err := s.run(ctx, "set", "image", "deployment/"+deployment, container+"=nginx"); err != nil {
		return err
	}
	lasted, err := undone(ctx, s.story, began, deployment, "the image to be put back", "the image nginx",
		func(d *appsv1.Deployment) bool { return imageOf(d) == "nginx" })
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("the image nginx for %s, then the right one again", lasted))
	live := &appsv1.Deployment{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: deployment}, live); err != nil {
		return err
	}
	if live.Labels["team"] != "blue" {
		return fmt.Errorf("expected the label team=blue on the Deployment; seen: labels %v", live.Labels)
	}
	s.fact("seen", "the label team=blue, still there")
	return s.tellRest(ctx, began)
}

func (s application) misspelled(ctx context.Context) error {
	s.title("The Application gets an image that does not exist. Its condition says so, and the old pods stay.")
	patch := func(tag string) error {
		return s.run(ctx, "patch", "application", app, "--type=merge", "--patch",
			fmt.Sprintf(`{"spec":{"image":"docker.io/nheidloff/simplemicroservice:%s"}}`, tag))
	}
	if err := patch("missing"); err != nil {
		return err
	}
	ready, err := s.becomes(ctx, v1alpha1.ReadyCondition, metav1.ConditionFalse, "ImagePullBackOff")
	if err != nil {
		return err
	}
	s.fact("Ready", fmt.Sprintf("%s, %s: %s", ready.Status, ready.Reason, ready.Message))
	began := s.now(ctx)
	if err := patch("v1.0.118"); err != nil {
		return err
	}
	return s.tellRest(ctx, began)
}

func (s application) converted(ctx context.Context) error {
	s.title("Somebody changes the Application in the version of the sample, in which greeting.title is title.")
	began := s.now(ctx)
	if err := s.run(ctx, "patch", alphaResource, app, "--type=merge",
		"--patch", `{"spec":{"title":"Universe"}}`); err != nil {
		return err
	}
	err := s.expect(ctx, "the new greeting", func(context.Context) (string, bool) {
		i := find(began.seen(), secret, func(_ watch.EventType, secret *corev1.Secret) bool {
			return string(secret.Data["GREETING_MESSAGE"]) == "Universe"
		})
		return "the old greeting", i >= 0
	})
	if err != nil {
		return err
	}
	s.fact("seen", "the greeting Universe in the Secret")
	return s.tellRest(ctx, began)
}
