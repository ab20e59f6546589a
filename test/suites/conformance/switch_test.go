package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

const switchesOver = "switches to what excludes it, and back"

// A step is a change of desired relative to the initial state.
type step struct {
	name string
	do   func(client.Object)
	// repaired means that an apply alone does not suffice: defaults from the previous state
	// conflict with this one.
	repaired bool
	// leaves sets in content the earlier defaults that the server still accepts and therefore keeps.
	leaves func(content map[string]any)
}

// to is a step of one request.
func to[T client.Object](name string, do func(T)) step { return step{name: name, do: then(do)} }

// repaired is a step of several.
func repaired(s step) step {
	s.repaired = true
	return s
}

// back is the step to the beginning.
var back = step{name: "back", do: func(client.Object) {}}

// A transition is a way through states that exclude each other.
type transition struct {
	name string
	kindCase
	steps []step
}

// TestSwitch: a change of desired that leaves something in live which the new state
// does not go with.
func TestSwitch(t *testing.T) {
	t.Parallel()
	repaired := len(strategies()) // they come first
	tried := func(i, turn int) bool {
		return i < repaired && everyMode(i, turn) || i >= repaired && inTurn(i-repaired, turn)
	}
	inModes(t, transitions(), transition.title, tried, func(t *testing.T, a access, tc transition) {
		newFixture(t, a, tc.kindCase).takes(tc.steps)
	})
}

func (tc transition) title() string { return tc.kindCase.name + " " + tc.name }

// transitions returns transitions that need repairs, followed by all others.
func transitions() []transition {
	all := slices.Concat(strategies(), services(), webhookClients(), smallTransitions())
	for _, k := range templated() {
		all = append(all, podTransitions(k)...)
	}
	return all
}

func (f *fixture) takes(steps []step) {
	f.t.Helper()
	f.createIsOneRequest()
	beginning := f.desired
	for _, s := range steps {
		f.desired = func() client.Object {
			obj := beginning()
			s.do(obj)
			return obj
		}
		res, requests := f.pass()
		f.requireOperation(res, ensure.Updated, ensure.DesiredChanged, s.name)
		if s.repaired {
			f.requireRepair(requests, s.name)
		} else {
			f.requireWrites(requests, 1, s.name)
		}
		f.requireFiveFreePasses("after " + s.name)
		f.requireAsNew(s)
	}
	f.requireNoUpdateEntry()
	f.noteShown(switchesOver)
}

// requireAsNew requires that live equals a new object created from desired.
func (f *fixture) requireAsNew(s step) {
	f.t.Helper()
	const suffix = "-anew"
	data, err := json.Marshal(f.desired())
	require.NoError(f.t, err)
	if f.childNamespace == "" {
		data = []byte(strings.ReplaceAll(string(data), f.namespace, f.namespace+suffix))
	}
	fresh := &unstructured.Unstructured{}
	require.NoError(f.t, json.Unmarshal(data, &fresh.Object))
	fresh.SetGroupVersionKind(f.empty().GetObjectKind().GroupVersionKind())
	fresh.SetNamespace(f.childNamespace)
	if f.childNamespace != "" {
		fresh.SetName(fresh.GetName() + suffix)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(fresh.GroupVersionKind())
	require.NoError(f.t, f.admin.Create(f.ctx, fresh, client.DryRunAll), s.name)
	require.NoError(f.t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(f.empty()), live), s.name)
	want := content(f.t, fresh, suffix)
	if s.leaves != nil {
		s.leaves(want)
	}
	require.Empty(f.t, gocmp.Diff(want, content(f.t, live, suffix)), s.name)
}

// content returns the specified fields of an object, without suffix in names, and without values
// that the server allocates.
func content(t *testing.T, obj *unstructured.Unstructured, suffix string) map[string]any {
	t.Helper()
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	var content map[string]any
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(data), suffix, "")), &content))
	delete(content, "metadata")
	delete(content, "status")
	withoutAllocations(content)
	return content
}

func withoutAllocations(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			withoutAllocations(item)
		}
	case map[string]any:
		for key, member := range v {
			switch key {
			case "clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort":
				v[key] = "allocated"
			default:
				withoutAllocations(member)
			}
		}
	}
}

func strategies() []transition {
	strategy := func(s appsv1.DeploymentStrategy) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Strategy = s }
	}
	recreate := to("Recreate", strategy(appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}))
	rolling := to("RollingUpdate", strategy(appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}))
	spelledOut := to("RollingUpdate spelled out", strategy(appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))},
	}))
	half := to("half spelled out", strategy(appsv1.DeploymentStrategy{
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromString("10%"))},
	}))

	onDelete := to("OnDelete", func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType })
	partitioned := to("RollingUpdate spelled out", func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type:          appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))},
		}
	})

	daemonStrategy := func(s appsv1.DaemonSetUpdateStrategy) func(*appsv1.DaemonSet) {
		return func(d *appsv1.DaemonSet) { d.Spec.UpdateStrategy = s }
	}
	daemonOnDelete := to("OnDelete", daemonStrategy(appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}))
	leavingDefaults := daemonOnDelete
	leavingDefaults.leaves = func(content map[string]any) {
		strategy := content["spec"].(map[string]any)["updateStrategy"].(map[string]any)
		strategy["rollingUpdate"] = map[string]any{"maxSurge": 0.0, "maxUnavailable": 1.0}
	}
	daemonRolling := to("RollingUpdate", daemonStrategy(appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType}))
	return []transition{
		{"from defaults to Recreate", idle(deployment()), []step{repaired(recreate), back, repaired(recreate)}},
		{"from RollingUpdate to Recreate", idle(deployment()), []step{rolling, repaired(recreate), rolling, repaired(recreate)}},
		{"from a spelled-out RollingUpdate to Recreate", idle(deployment()), []step{
			spelledOut, recreate, spelledOut, half, recreate, back, repaired(recreate),
		}},
		{"to OnDelete", idle(statefulSet()), []step{repaired(onDelete), back, repaired(onDelete), partitioned, onDelete, partitioned, back}},
		{"to OnDelete", idle(daemonSet()), []step{daemonOnDelete, back, daemonOnDelete, daemonRolling, leavingDefaults, back}},
	}
}

func services() []transition {
	service := func(name string, do func(*corev1.ServiceSpec)) step {
		return to(name, func(s *corev1.Service) { do(&s.Spec) })
	}
	nodePort := service("NodePort", func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort })
	balanced := service("LoadBalancer", func(s *corev1.ServiceSpec) {
		s.Type = corev1.ServiceTypeLoadBalancer
		s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		s.LoadBalancerClass = new("example.com/balancer")
		s.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	})
	elsewhere := service("ExternalName", func(s *corev1.ServiceSpec) {
		*s = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.com"}
	})
	inside := service("ClusterIP", func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeClusterIP })
	sticky := service("affinity", func(s *corev1.ServiceSpec) { s.SessionAffinity = corev1.ServiceAffinityClientIP })
	stickyForLong := service("affinity spelled out", func(s *corev1.ServiceSpec) {
		s.SessionAffinity = corev1.ServiceAffinityClientIP
		s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(60))}}
	})
	fickle := service("no affinity", func(s *corev1.ServiceSpec) { s.SessionAffinity = corev1.ServiceAffinityNone })
	numbered := service("a numbered target port", func(s *corev1.ServiceSpec) { s.Ports[0].TargetPort = intstr.FromInt32(8080) })
	return []transition{
		{"through every type", clusterIPService(), []step{nodePort, balanced, elsewhere, inside, balanced, back}},
		{"through every type backwards", clusterIPService(), []step{elsewhere, balanced, nodePort, elsewhere, nodePort, inside}},
		{"from elsewhere to headless", externalName(), []step{to("headless", func(s *corev1.Service) {
			s.Spec = corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "db"}}
		}), back}},
		{"to session affinity", clusterIPService(), []step{sticky, fickle, stickyForLong, fickle, sticky, back}},
		{"to a numbered target port", clusterIPService(), []step{numbered, back}},
	}
}

func webhookClients() []transition {
	url := "https://webhook.example.com/"
	mutating := to("URL", func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		config := &m.Webhooks[0].ClientConfig
		config.Service, config.URL = nil, &url
	})
	validating := to("URL", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
		v.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: []byte(authority)}
	})
	conversion := to("a webhook that converts", func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{
					Service: &apiextensionsv1.ServiceReference{Namespace: "default", Name: "webhook"},
				},
				ConversionReviewVersions: []string{"v1"},
			},
		}
	})
	conversionByURL := to("the same by URL", func(c *apiextensionsv1.CustomResourceDefinition) {
		conversion.do(c)
		c.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url}
	})
	noConversion := to("no conversion", func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	})
	trusting := func(trust func(spec map[string]any)) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			spec := u.Object["spec"].(map[string]any)
			spec["service"] = map[string]any{"namespace": "default", "name": "extension"}
			trust(spec)
		}
	}
	byAuthority := to("caBundle", trusting(func(spec map[string]any) { spec["caBundle"] = []byte(authority) }))
	blindly := to("insecureSkipTLSVerify", trusting(func(spec map[string]any) { spec["insecureSkipTLSVerify"] = true }))
	return []transition{
		{"from service to URL", mutatingWebhooks(), []step{mutating, back, mutating}},
		{"from service to URL", validatingWebhooks(), []step{validating, back, validating}},
		{"to conversion", customResourceDefinition(), []step{conversion, conversionByURL, conversion, noConversion, conversion, back}},
		{"from caBundle to insecureSkipTLSVerify", apiService(), []step{byAuthority, blindly, byAuthority, blindly, back}},
	}
}

func smallTransitions() []transition {
	reject := to("Reject", func(p *flowcontrolv1.PriorityLevelConfiguration) {
		p.Spec.Limited.LimitResponse = flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}
	})
	unavailable := to("maxUnavailable", func(p *policyv1.PodDisruptionBudget) {
		p.Spec.MinAvailable, p.Spec.MaxUnavailable = nil, new(intstr.FromInt32(1))
	})
	byGroup := to("a group", func(f *flowcontrolv1.FlowSchema) {
		f.Spec.Rules[0].Subjects[0] = flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: "none"}}
	})
	byAccount := to("a service account", func(f *flowcontrolv1.FlowSchema) {
		f.Spec.Rules[0].Subjects[0] = flowcontrolv1.Subject{
			Kind:           flowcontrolv1.SubjectKindServiceAccount,
			ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: "none", Name: "none"},
		}
	})
	binary := to("binaryData", func(c *corev1.ConfigMap) {
		c.Data, c.BinaryData = map[string]string{"bytes": "text"}, map[string][]byte{"crlf": {255}}
	})
	bucket := corev1.TypedLocalObjectReference{APIGroup: new("example.com"), Kind: "Bucket", Name: "static"}
	byResource := to("a resource", func(i *networkingv1.Ingress) {
		i.Spec.DefaultBackend = &networkingv1.IngressBackend{Resource: &bucket}
		i.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &bucket}
	})
	byService := to("a service", func(i *networkingv1.Ingress) {
		i.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80},
		}}
	})
	byPortName := to("a named port", func(i *networkingv1.Ingress) {
		i.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: "web", Port: networkingv1.ServiceBackendPort{Name: "http"},
		}}
	})
	peer := func(name string, p networkingv1.NetworkPolicyPeer) step {
		return to(name, func(n *networkingv1.NetworkPolicy) { n.Spec.Ingress[0].From[0] = p })
	}
	named := to("a volume of another class, reserved", func(v *corev1.PersistentVolume) {
		v.Spec.StorageClassName, v.Spec.MountOptions = "another", nil
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "nowhere", Name: "claim"}
	})
	return []transition{
		{"to Reject", priorityLevel(), []step{reject, back, reject}},
		{"to maxUnavailable", disruptionBudget(), []step{unavailable, back, unavailable}},
		{"to other subjects", flowSchema(), []step{byGroup, byAccount, back}},
		{"from data to binaryData", configMap(), []step{binary, back, binary}},
		{"to other backends", ingress(), []step{byResource, byService, byPortName, byResource, back}},
		{"to other peers", networkPolicy(), []step{
			peer("a block", networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}),
			peer("pods", networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}), back,
		}},
		{"to other metrics", autoscaler(), metricSteps()},
		{"to another class", volume(), []step{named, back}},
	}
}

func metricSteps() []step {
	average := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("100"))}
	value := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: new(resource.MustParse("1"))}
	metric := func(name string, m autoscalingv2.MetricSpec) step {
		return to(name, func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Spec.Metrics, h.Spec.Behavior = []autoscalingv2.MetricSpec{m}, nil
		})
	}
	return []step{
		metric("an average", autoscalingv2.MetricSpec{
			Type:     autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: average},
		}),
		metric("pods", autoscalingv2.MetricSpec{
			Type: autoscalingv2.PodsMetricSourceType,
			Pods: &autoscalingv2.PodsMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "requests"}, Target: average},
		}),
		metric("an object", autoscalingv2.MetricSpec{
			Type: autoscalingv2.ObjectMetricSourceType,
			Object: &autoscalingv2.ObjectMetricSource{
				DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "web"},
				Metric:          autoscalingv2.MetricIdentifier{Name: "requests"}, Target: value,
			},
		}),
		metric("something outside", autoscalingv2.MetricSpec{
			Type:     autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "queue"}, Target: value},
		}),
		metric("a container", autoscalingv2.MetricSpec{
			Type: autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: corev1.ResourceMemory, Container: "main", Target: average,
			},
		}),
		back,
	}
}

// podTransitions returns the transitions of pods, which are the same for every kind with a pod
// template.
func podTransitions(k kindCase) []transition {
	pods := func(name string, do func(main *corev1.Container, spec *corev1.PodSpec)) step {
		return step{name: name, do: func(obj client.Object) {
			template := podTemplateOf(obj)
			do(mainOf(template), &template.Spec)
		}}
	}
	probe := func(name string, h corev1.ProbeHandler) step {
		return pods(name, func(main *corev1.Container, _ *corev1.PodSpec) {
			main.ReadinessProbe = &corev1.Probe{ProbeHandler: h, PeriodSeconds: 7}
			main.LivenessProbe = &corev1.Probe{ProbeHandler: h}
		})
	}
	hook := func(name string, h corev1.LifecycleHandler) step {
		return pods(name, func(main *corev1.Container, _ *corev1.PodSpec) {
			main.Lifecycle = &corev1.Lifecycle{PostStart: &h, PreStop: &h}
		})
	}
	mount := func(name string, v corev1.VolumeSource) step {
		return pods(name, func(_ *corev1.Container, spec *corev1.PodSpec) { spec.Volumes[0].VolumeSource = v })
	}
	env := func(name string, v corev1.EnvVar) step {
		return pods(name, func(main *corev1.Container, _ *corev1.PodSpec) {
			for i := range main.Env {
				v.Name = main.Env[i].Name
				main.Env[i] = v
			}
		})
	}
	seccomp := func(p corev1.SeccompProfile) step {
		return pods(string(p.Type), func(main *corev1.Container, _ *corev1.PodSpec) {
			main.SecurityContext = &corev1.SecurityContext{SeccompProfile: &p}
		})
	}
	reference := corev1.LocalObjectReference{Name: "settings"}
	httpGet := corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}
	tcp := corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}
	exec := corev1.ExecAction{Command: []string{"true"}}
	return []transition{
		{"to other probes", k, []step{
			probe("httpGet", corev1.ProbeHandler{HTTPGet: &httpGet}), probe("tcpSocket", corev1.ProbeHandler{TCPSocket: &tcp}),
			probe("exec", corev1.ProbeHandler{Exec: &exec}), probe("httpGet again", corev1.ProbeHandler{HTTPGet: &httpGet}),
			probe("grpc", corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8080}}),
			probe("tcpSocket again", corev1.ProbeHandler{TCPSocket: &tcp}), back,
		}},
		{"to other hooks", k, []step{
			hook("httpGet", corev1.LifecycleHandler{HTTPGet: &httpGet}), hook("exec", corev1.LifecycleHandler{Exec: &exec}),
			hook("sleep", corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}),
			hook("httpGet again", corev1.LifecycleHandler{HTTPGet: &httpGet}),
			hook("sleep again", corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}), back,
		}},
		{"to other volumes", k, []step{
			mount("configMap", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: reference}}),
			mount("secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "settings"}}),
			back,
			mount("projected", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			}}}),
			mount("hostPath", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log"}}),
			mount("downwardAPI", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}),
			mount("claim", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "settings"}}),
			back,
		}},
		{"to other sources of environment", k, []step{
			env("value", corev1.EnvVar{Value: "text"}),
			env("fieldRef", corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}}}),
			env("secretKeyRef", corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: reference, Key: "key",
			}}}),
			env("resourceFieldRef", corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
				Resource: "limits.cpu",
			}}}),
			env("value again", corev1.EnvVar{Value: "text"}), back,
		}},
		{"to other profiles", k, []step{
			seccomp(corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("profile.json")}),
			seccomp(corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}), back,
		}},
	}
}
