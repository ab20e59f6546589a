package conformance_test

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func configMap() kindCase {
	return kindCase{
		name: "ConfigMap",
		desired: func() client.Object {
			return &corev1.ConfigMap{
				ObjectMeta: named("config"),
				Data: map[string]string{
					"crlf": "a\r\nb\r\n", "emoji": "🚀", "control": "\u0001\u007f\u0085\u2028\ufffe", "empty": "", "yaml": "a: [1, 'x']\n---\n",
				},
				BinaryData: map[string][]byte{"bytes": {0, 255, 128}, "none": {}},
			}
		},
		edits: []edit{
			on("a value", func(c *corev1.ConfigMap) { c.Data["crlf"] = "edited" }),
			on("a removed key", func(c *corev1.ConfigMap) { delete(c.Data, "emoji") }),
			on("bytes", func(c *corev1.ConfigMap) { c.BinaryData["bytes"] = []byte{1} }),
		},
		additions: []edit{on("a key", func(c *corev1.ConfigMap) { c.Data["theirs"] = "kept" })},
		next:      then(func(c *corev1.ConfigMap) { delete(c.Data, "crlf"); c.BinaryData = nil }),
		gone: is(func(c *corev1.ConfigMap) bool {
			_, ok := c.Data["crlf"]
			return !ok && c.BinaryData == nil
		}),
	}
}

func secret() kindCase {
	return kindCase{
		name: "Secret",
		desired: func() client.Object {
			return &corev1.Secret{
				ObjectMeta: named("secret"),
				Data:       map[string][]byte{"password": []byte("hunter2"), "none": nil},
				StringData: map[string]string{"user": "größe"},
			}
		},
		edits: []edit{
			on("a value", func(s *corev1.Secret) { s.Data["password"] = []byte("edited") }),
			on("what stringData made", func(s *corev1.Secret) { delete(s.Data, "user") }),
		},
		additions: []edit{on("a key", func(s *corev1.Secret) { s.Data["theirs"] = []byte("kept") })},
		next:      then(func(s *corev1.Secret) { s.StringData = nil }),
		gone: is(func(s *corev1.Secret) bool {
			_, ok := s.Data["user"]
			return !ok
		}),
	}
}

func serviceAccount() kindCase {
	return kindCase{
		name: "ServiceAccount",
		desired: func() client.Object {
			return &corev1.ServiceAccount{
				ObjectMeta:                   named("account"),
				ImagePullSecrets:             []corev1.LocalObjectReference{{Name: "registry"}},
				AutomountServiceAccountToken: new(false),
			}
		},
		edits: []edit{
			on("a token mounted", func(s *corev1.ServiceAccount) { s.AutomountServiceAccountToken = new(true) }),
			on("a pull secret", func(s *corev1.ServiceAccount) { s.ImagePullSecrets[0].Name = "edited" }),
			on("no pull secrets", func(s *corev1.ServiceAccount) { s.ImagePullSecrets = nil }),
		},
		additions: []edit{on("a secret", func(s *corev1.ServiceAccount) {
			s.Secrets = append(s.Secrets, corev1.ObjectReference{Name: "theirs"})
		})},
		next: then(func(s *corev1.ServiceAccount) { s.AutomountServiceAccountToken, s.ImagePullSecrets = nil, nil }),
		gone: is(func(s *corev1.ServiceAccount) bool {
			return s.AutomountServiceAccountToken == nil && s.ImagePullSecrets == nil
		}),
	}
}

func namespace() kindCase {
	return kindCase{
		name:   "Namespace",
		rename: bySuffix,
		desired: func() client.Object {
			obj := &corev1.Namespace{ObjectMeta: named("tenant")}
			obj.Labels["pod-security.kubernetes.io/enforce"] = "baseline"
			return obj
		},
		edits: []edit{
			on("its security", func(n *corev1.Namespace) { n.Labels["pod-security.kubernetes.io/enforce"] = "privileged" }),
			on("its security gone", func(n *corev1.Namespace) { delete(n.Labels, "pod-security.kubernetes.io/enforce") }),
		},
		next: then(func(n *corev1.Namespace) { delete(n.Labels, "pod-security.kubernetes.io/enforce") }),
		gone: is(func(n *corev1.Namespace) bool {
			_, ok := n.Labels["pod-security.kubernetes.io/enforce"]
			return !ok
		}),
	}
}

func resourceQuota() kindCase {
	return kindCase{
		name: "ResourceQuota",
		desired: func() client.Object {
			return &corev1.ResourceQuota{
				ObjectMeta: named("quota"),
				Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
					corev1.ResourceRequestsCPU: resource.MustParse("1000m"), corev1.ResourceLimitsMemory: resource.MustParse("0.5Gi"),
					corev1.ResourcePods: resource.MustParse("0"), "count/cronjobs.batch": resource.MustParse("1e1"),
				}},
			}
		},
		settled: is(func(r *corev1.ResourceQuota) bool { return len(r.Status.Hard) == len(r.Spec.Hard) }),
		edits: []edit{
			on("a limit", func(r *corev1.ResourceQuota) { r.Spec.Hard[corev1.ResourcePods] = resource.MustParse("10") }),
			on("a limit less", func(r *corev1.ResourceQuota) { delete(r.Spec.Hard, corev1.ResourceRequestsCPU) }),
		},
		additions: []edit{on("a limit", func(r *corev1.ResourceQuota) { r.Spec.Hard["count/jobs.batch"] = resource.MustParse("7") })},
		next:      then(func(r *corev1.ResourceQuota) { delete(r.Spec.Hard, corev1.ResourcePods) }),
		gone: is(func(r *corev1.ResourceQuota) bool {
			_, ok := r.Spec.Hard[corev1.ResourcePods]
			return !ok
		}),
	}
}

// limitRange has limits with server-side defaults inside an atomic list.
func limitRange() kindCase {
	return kindCase{
		name: "LimitRange",
		desired: func() client.Object {
			return &corev1.LimitRange{
				ObjectMeta: named("limits"),
				Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
					{
						Type: corev1.LimitTypeContainer,
						Max:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2000m")},
						Min:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0")},
					},
					{Type: corev1.LimitTypePersistentVolumeClaim, Max: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1024Mi")}},
				}},
			}
		},
		edits: []edit{
			on("a maximum", func(l *corev1.LimitRange) { l.Spec.Limits[0].Max[corev1.ResourceCPU] = resource.MustParse("64") }),
			on("a limit more", func(l *corev1.LimitRange) {
				pods := corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
				l.Spec.Limits = append(l.Spec.Limits, pods)
			}),
			on("a minimum beside ours", func(l *corev1.LimitRange) {
				l.Spec.Limits[1].Min = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
			}),
			on("a limit less", func(l *corev1.LimitRange) { l.Spec.Limits = l.Spec.Limits[:1] }),
		},
		next: then(func(l *corev1.LimitRange) { l.Spec.Limits = []corev1.LimitRangeItem{} }),
		gone: is(func(l *corev1.LimitRange) bool { return len(l.Spec.Limits) == 0 }),
	}
}

func lease() kindCase {
	return kindCase{
		name: "Lease",
		desired: func() client.Object {
			return &coordinationv1.Lease{
				ObjectMeta: named("lease"),
				Spec: coordinationv1.LeaseSpec{
					HolderIdentity: new("nobody_🙂"), LeaseDurationSeconds: ptr.To[int32](15),
					AcquireTime: &metav1.MicroTime{Time: time.Date(2026, 2, 3, 4, 5, 6, 7000, time.FixedZone("", 3600))},
				},
			}
		},
		edits: []edit{
			on("the holder", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("mallory") }),
			on("the time", func(l *coordinationv1.Lease) { l.Spec.AcquireTime = &metav1.MicroTime{Time: time.Unix(1, 0)} }),
			on("no duration", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = nil }),
		},
		additions: []edit{on("a count", func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = ptr.To[int32](1) })},
		next:      then(func(l *coordinationv1.Lease) { l.Spec.AcquireTime = nil }),
		gone:      is(func(l *coordinationv1.Lease) bool { return l.Spec.AcquireTime == nil }),
	}
}
