package cookbook_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Shop is the custom resource of all recipes.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec   `json:"spec,omitempty"`
	Status ShopStatus `json:"status,omitempty"`
}

type ShopSpec struct {
	Image    string            `json:"image"`
	Settings map[string]string `json:"settings,omitempty"`
	Files    map[string][]byte `json:"files,omitempty"`
	Metrics  bool              `json:"metrics,omitempty"` // whether Prometheus scrapes the shop
	Copies   []string          `json:"copies,omitempty"`  // namespaces with a copy of the settings
}

type ShopStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type ShopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Shop `json:"items"`
}

// deploymentFor returns the fields that every recipe specifies. There is no spec.replicas.
func deploymentFor(shop *Shop) *appsv1.Deployment {
	labels := map[string]string{"shop.example.com/name": shop.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "shop", Image: shop.Spec.Image}}},
			},
		},
	}
}

func serviceFor(shop *Shop) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name, Labels: map[string]string{"shop.example.com/name": shop.Name}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"shop.example.com/name": shop.Name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
}
