//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Shop is a custom object whose spec contains types of the Kubernetes API, as most custom kinds
// do: these types change with each version.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec   `json:"spec"`
	Status ShopStatus `json:"status,omitempty"`
}

type ShopSpec struct {
	Common `json:",inline"`

	Database  Database                       `json:"db"`
	Cache     *Database                      `json:"cache,omitempty"`
	Template  corev1.PodTemplateSpec         `json:"template,omitempty"`
	Resources corev1.ResourceRequirements    `json:"resources,omitempty"`
	Probe     *corev1.Probe                  `json:"probe,omitempty"`
	Affinity  *corev1.Affinity               `json:"affinity,omitempty"`
	Volumes   []corev1.Volume                `json:"volumes,omitempty"`
	Policy    networkingv1.NetworkPolicySpec `json:"policy,omitempty"`
	Service   corev1.ServiceSpec             `json:"service,omitempty"`
	Selector  metav1.LabelSelector           `json:"selector,omitempty"`
	Secret    corev1.SecretKeySelector       `json:"secret"`
	Claims    corev1.PersistentVolumeClaim   `json:"claim,omitempty"`

	Interval metav1.Duration                        `json:"interval,omitempty"`
	Timeout  *metav1.Duration                       `json:"timeout,omitempty"`
	Start    metav1.Time                            `json:"start,omitempty"`
	Port     intstr.IntOrString                     `json:"port,omitempty"`
	Size     resource.Quantity                      `json:"size,omitempty"`
	Limits   map[string]*resource.Quantity          `json:"limits,omitempty"`
	Values   runtime.RawExtension                   `json:"values,omitempty"`
	Raw      json.RawMessage                        `json:"raw,omitempty"`
	Later    time.Time                              `json:"later,omitzero"`
	Empty    struct{}                               `json:"empty"`
	Anything any                                    `json:"anything,omitempty"`
	Number   int64                                  `json:"number,string"`
	Ports    []corev1.ServicePort                   `json:"ports"`
	Names    map[string]corev1.LocalObjectReference `json:"names"`
}

type Common struct {
	Paused bool `json:"paused"`
}

type Database struct {
	Name string `json:"name,omitempty"`
}

type ShopStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (s *Shop) DeepCopyObject() runtime.Object {
	copied := *s
	return &copied
}

func custom() []Entry {
	return []Entry{
		{"custom/Shop/zero", &Shop{}},
		{"custom/Shop/empty", &Shop{ObjectMeta: named("empty"), Spec: ShopSpec{
			Cache: &Database{}, Volumes: []corev1.Volume{}, Probe: &corev1.Probe{}, Timeout: &metav1.Duration{}, Ports: []corev1.ServicePort{},
			Limits: map[string]*resource.Quantity{"nil": nil, "zero": {}}, Names: map[string]corev1.LocalObjectReference{"": {}},
		}}},
		{"custom/Shop/full", fullShop()},
		{"custom/Shop/spec", fullShop().Spec},
		{"custom/Shop/list", []Shop{*fullShop(), {}}},
	}
}

func fullShop() *Shop {
	return &Shop{
		TypeMeta: metav1.TypeMeta{APIVersion: "example.org/v1", Kind: "Shop"}, ObjectMeta: named("shop"),
		Spec: ShopSpec{
			Common: Common{Paused: true}, Database: Database{Name: "shop"}, Template: template(), Resources: container("app").Resources,
			Probe: probe("/", intstr.FromInt32(0)), Affinity: affinity(), Volumes: volumes(), Service: loadBalancer().Spec,
			Policy:   networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{}},
			Secret:   corev1.SecretKeySelector{Key: "password"},
			Claims:   *claim("1e3"),
			Interval: metav1.Duration{Duration: time.Hour}, Start: moment(), Port: intstr.FromString("http"), Size: resource.MustParse("1000m"),
			Limits: map[string]*resource.Quantity{"cpu": new(resource.MustParse("0.5"))}, Values: runtime.RawExtension{Raw: []byte(`{"b":1e2,"a":[]}`)},
			Raw: json.RawMessage(`[ 1.0, null ]`), Later: moment().Time, Anything: map[string]any{"b": []any{int64(1)}, "a": nil},
			Number: -1 << 63, Ports: samePortService().Spec.Ports,
		},
		Status: ShopStatus{Conditions: []metav1.Condition{{Type: "Ready"}}},
	}
}
