package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A child is a child of each owner, as all contestants write it, and the changes that others make to it.
type child struct {
	kind      schema.GroupVersionKind
	empty     func() client.Object
	emptyList func() client.ObjectList

	// desired returns the fields that the operator decides. One of them depends on the revision.
	desired func(owner client.Object, revision int) client.Object
	// assignContent sets these fields in live, as operators do: single fields of the spec, or the whole spec.
	assignContent func(live, desired client.Object)
	// addDefaults sets in desired the defaults that the API server sets.
	addDefaults func(desired client.Object)

	// The changes are strategic merge patches, or merge patches of a custom kind.
	heartbeat string // of the status, with a %d; empty for a kind without a status
	drift     string // of a field that the operator decides
	addition  string // of a field or list item that the operator does not decide

	hasDrift, hasAddition func(live client.Object) bool
}

// children returns the children of each owner. Built-in controllers only write the status of the Deployment,
// since it is paused.
func children() []child { return []child{configMap(), service(), deployment(), database()} }

func (c child) assign(live, desired client.Object) {
	live.SetLabels(desired.GetLabels())
	c.assignContent(live, desired)
}

func (c child) assignWithDefaults(live, desired client.Object) {
	c.addDefaults(desired)
	c.assign(live, desired)
}

const instanceLabel = "app.kubernetes.io/instance"

// metadata returns the metadata of the children of an owner.
func metadata(owner client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: owner.GetNamespace(), Name: owner.GetName() + "-web",
		Labels: map[string]string{"app.kubernetes.io/name": "shop", instanceLabel: owner.GetName()},
	}
}

// list lists the children of a kind in a namespace.
func (c child) list(ctx context.Context, reader client.Reader, namespace string) ([]client.Object, error) {
	list := c.emptyList()
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.HasLabels{instanceLabel}); err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", c.kind.Kind, err)
	}
	var items []client.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok {
			items = append(items, object)
		}
		return nil
	})
	return items, err
}

func configMap() child {
	data := func(object client.Object) map[string]string { return object.(*corev1.ConfigMap).Data }
	return child{
		kind:      corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		empty:     func() client.Object { return &corev1.ConfigMap{} },
		emptyList: func() client.ObjectList { return &corev1.ConfigMapList{} },
		desired: func(owner client.Object, revision int) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metadata(owner), Data: map[string]string{
				"listen": ":8080", "log-level": "info", "revision": fmt.Sprint(revision),
			}}
		},
		assignContent: func(live, desired client.Object) { live.(*corev1.ConfigMap).Data = data(desired) },
		addDefaults:   func(client.Object) {},
		drift:         `{"data":{"log-level":"debug"}}`,
		addition:      `{"data":{"ca.crt":"of somebody else"}}`,
		hasDrift:      func(live client.Object) bool { return data(live)["log-level"] != "info" },
		hasAddition:   func(live client.Object) bool { return data(live)["ca.crt"] != "" },
	}
}

func service() child {
	spec := func(object client.Object) *corev1.ServiceSpec { return &object.(*corev1.Service).Spec }
	return child{
		kind:      corev1.SchemeGroupVersion.WithKind("Service"),
		empty:     func() client.Object { return &corev1.Service{} },
		emptyList: func() client.ObjectList { return &corev1.ServiceList{} },
		desired: func(owner client.Object, revision int) client.Object {
			return &corev1.Service{ObjectMeta: metadata(owner), Spec: corev1.ServiceSpec{
				Selector: map[string]string{instanceLabel: owner.GetName()},
				Ports:    []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: int32(9090 + revision)}},
			}}
		},
		assignContent: func(live, desired client.Object) {
			spec(live).Selector, spec(live).Ports = spec(desired).Selector, spec(desired).Ports
		},
		addDefaults: func(desired client.Object) {
			ports := spec(desired).Ports
			for i := range ports {
				ports[i].Protocol, ports[i].TargetPort = corev1.ProtocolTCP, intstr.FromInt32(ports[i].Port)
			}
		},
		heartbeat: `{"status":{"conditions":[{"type":"Checked","status":"True","reason":"Checked","message":"%d",` +
			`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
		drift:       `{"spec":{"selector":{"` + instanceLabel + `":"another"}}}`,
		addition:    `{"spec":{"ports":[{"name":"debug","port":6060}]}}`,
		hasDrift:    func(live client.Object) bool { return spec(live).Selector[instanceLabel] == "another" },
		hasAddition: func(live client.Object) bool { return len(spec(live).Ports) == 3 },
	}
}

func deployment() child {
	spec := func(object client.Object) *appsv1.DeploymentSpec { return &object.(*appsv1.Deployment).Spec }
	containers := func(object client.Object) []corev1.Container { return spec(object).Template.Spec.Containers }
	return child{
		kind:          appsv1.SchemeGroupVersion.WithKind("Deployment"),
		empty:         func() client.Object { return &appsv1.Deployment{} },
		emptyList:     func() client.ObjectList { return &appsv1.DeploymentList{} },
		desired:       desiredDeployment,
		assignContent: func(live, desired client.Object) { *spec(live) = *spec(desired) },
		addDefaults:   func(desired client.Object) { addDeploymentDefaults(spec(desired)) },
		heartbeat:     `{"status":{"conditions":[{"type":"Checked","status":"True","reason":"Checked","message":"%d"}]}}`,
		drift:         `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"ghcr.io/example/web:edited"}]}}}}`,
		addition:      `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"ghcr.io/example/sidecar:1"}]}}}}`,
		hasDrift:      func(live client.Object) bool { return containers(live)[0].Image == "ghcr.io/example/web:edited" },
		hasAddition:   func(live client.Object) bool { return len(containers(live)) == 2 },
	}
}

func desiredDeployment(owner client.Object, revision int) client.Object {
	selector := map[string]string{instanceLabel: owner.GetName()}
	return &appsv1.Deployment{ObjectMeta: metadata(owner), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)),
		Paused:   true,
		Selector: &metav1.LabelSelector{MatchLabels: selector},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name:  "web",
				Image: fmt.Sprintf("ghcr.io/example/web:1.%d", revision),
				Env:   []corev1.EnvVar{{Name: "MODE", Value: "production"}},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")},
				}},
			}}},
		},
	}}
}

// addDeploymentDefaults sets the defaults that the API server sets for desiredDeployment.
func addDeploymentDefaults(spec *appsv1.DeploymentSpec) {
	spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.FromString("25%")), MaxSurge: new(intstr.FromString("25%")),
		},
	}
	spec.RevisionHistoryLimit, spec.ProgressDeadlineSeconds = new(int32(10)), new(int32(600))
	pod := &spec.Template.Spec
	pod.RestartPolicy, pod.DNSPolicy = corev1.RestartPolicyAlways, corev1.DNSClusterFirst
	pod.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	pod.SecurityContext, pod.SchedulerName = &corev1.PodSecurityContext{}, corev1.DefaultSchedulerName
	container := &pod.Containers[0]
	container.TerminationMessagePath = corev1.TerminationMessagePathDefault
	container.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	container.ImagePullPolicy = corev1.PullIfNotPresent
	container.Ports[0].Protocol = corev1.ProtocolTCP
	probe := container.ReadinessProbe
	probe.HTTPGet.Scheme = corev1.URISchemeHTTP
	probe.TimeoutSeconds, probe.PeriodSeconds, probe.SuccessThreshold, probe.FailureThreshold = 1, 10, 1, 3
}
