package scaffold

import (
	"fmt"
	"slices"
	"strings"
)

// A child is a kind of object that the operator ensures.
type child struct {
	Kind, GoType, Variable, Group, Resource string
	// Edit is an edit by hand in the test, and Reverted is how the operator reverts it.
	Edit, Reverted string
	fields         []field
}

// A field is a field of the custom resource.
type field struct {
	Name, Type string
	// Example is the value in the test, and sample the lines in the sample.
	Example, sample string
	// declaration has the comments and the markers, and the field itself.
	declaration string
}

// kinds are the children in the order in which they are ensured.
var kinds = []child{
	{
		Kind: "ConfigMap", GoType: "corev1.ConfigMap", Variable: "configMap", Group: `""`, Resource: "configmaps",
		Edit: `Data["LEVEL"] = "debug"`, Reverted: `data[LEVEL]`,
		fields: []field{{
			Name: "Data", Type: "map[string]string", Example: `map[string]string{"LEVEL": "info"}`, sample: "data:\n    LEVEL: info",
			declaration: `
	// data is the data of the ConfigMap.
	// +optional
	Data map[string]string ` + "`json:\"data,omitempty\"`\n",
		}},
	},
	{
		Kind: "Deployment", GoType: "appsv1.Deployment", Variable: "deployment", Group: "apps", Resource: "deployments",
		Edit: "Spec.Replicas = new(int32(7))", Reverted: "spec.replicas 7 -> 2",
		fields: []field{
			{
				Name: "Image", Type: "string", Example: `"nginx:1.29"`, sample: "image: nginx:1.29",
				declaration: `
	// image is the image of the container.
	// +kubebuilder:validation:MinLength=1
	// +required
	Image string ` + "`json:\"image\"`\n",
			},
			{
				Name: "Replicas", Type: "*int32", Example: "new(int32(2))", sample: "replicas: 2",
				declaration: `
	// replicas is the number of pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 ` + "`json:\"replicas,omitempty\"`\n",
			},
		},
	},
	{
		Kind: "Service", GoType: "corev1.Service", Variable: "service", Group: `""`, Resource: "services",
		Edit: `Spec.Selector["app"] = "other"`, Reverted: "spec.selector[app]",
		fields: []field{{
			Name: "Port", Type: "int32", Example: "80", sample: "port: 80",
			declaration: `
	// port is the port of the Service and of the container.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 ` + "`json:\"port,omitempty\"`\n",
		}},
	},
}

// conditions is the field of the status.
var conditions = field{
	Name: "Conditions", Type: "[]metav1.Condition",
	declaration: `
	// conditions are the observed states of the object.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition ` + "`json:\"conditions,omitempty\"`\n",
}

// jsonName returns the name of the field in JSON.
func (f field) jsonName() string { return strings.ToLower(f.Name) }

// childrenOf returns the children with the names, in any case.
func childrenOf(names []string) ([]child, error) {
	for _, name := range names {
		if !slices.ContainsFunc(kinds, func(c child) bool { return strings.EqualFold(c.Kind, name) }) {
			return nil, fmt.Errorf("--children: %q is none of deployment, service and configmap", name)
		}
	}
	var children []child
	for _, c := range kinds {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(c.Kind, name) }) {
			children = append(children, c)
		}
	}
	if len(children) == 0 {
		return nil, fmt.Errorf("--children: name at least one of deployment, service and configmap")
	}
	return children, nil
}
