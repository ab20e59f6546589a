package predicates_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A kind lists the changes of its objects; a missing change has an empty field.
type kind struct {
	name      string
	object    func(name string) client.Object
	bound     bool            // its objects have to be bound first
	patchType types.PatchType // strategic where the server knows it: it adds to lists
	spec      string          // a patch, like all that follow
	status    string          // which the kind's statusOn takes
	more      [][2]string     // further changes of status: name and patch
	heartbeat string          // after status
	statusOn  []string        // the subresource of status, if there is one
	cluster   bool            // its objects are in no namespace
}

var named = func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

const aTime, anotherTime = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"

// checked returns a condition of ours with its heartbeat at a time.
func checked(heartbeat, at string) string {
	return fmt.Sprintf(`{"status":{"conditions":[{"type":"Checked","status":"True","lastTransitionTime":%q,%q:%q}]}}`,
		aTime, heartbeat, at)
}

func kinds() []kind {
	status := []string{"status"}
	return []kind{
		{
			name: "Deployment", patchType: types.StrategicMergePatchType, object: deployment, statusOn: status,
			spec: `{"spec":{"minReadySeconds":5}}`, status: checked("lastUpdateTime", aTime),
			heartbeat: checked("lastUpdateTime", anotherTime),
		},
		{
			name: "Pod", patchType: types.StrategicMergePatchType, object: pod, statusOn: status,
			spec: `{"spec":{"containers":[{"name":"main","image":"example.com/app:2"}]}}`, status: checked("lastProbeTime", aTime),
			heartbeat: checked("lastProbeTime", anotherTime),
		},
		{
			name: "custom kind with a status subresource", patchType: types.MergePatchType, statusOn: status,
			object: func(name string) client.Object { return custom("Widget", name) },
			spec:   `{"spec":{"size":2}}`, status: checked("lastProbeTime", aTime), heartbeat: checked("lastProbeTime", anotherTime),
		},
		{
			name: "custom kind without one", patchType: types.MergePatchType,
			object: func(name string) client.Object { return custom("Trinket", name) },
			spec:   `{"spec":{"size":2}}`, status: checked("lastProbeTime", aTime), heartbeat: checked("lastProbeTime", anotherTime),
		},
		{
			name: "ConfigMap", patchType: types.StrategicMergePatchType, spec: `{"data":{"key":"value"}}`,
			object: func(name string) client.Object { return &corev1.ConfigMap{ObjectMeta: named(name)} },
		},
		{
			name: "Secret", patchType: types.StrategicMergePatchType, spec: `{"stringData":{"key":"value"}}`,
			object: func(name string) client.Object { return &corev1.Secret{ObjectMeta: named(name)} },
		},
		{
			name: "Service", patchType: types.StrategicMergePatchType, object: service, statusOn: status,
			spec:   `{"spec":{"sessionAffinity":"ClientIP"}}`,
			status: `{"status":{"conditions":[{"type":"Checked","status":"True","reason":"Checked","message":"","lastTransitionTime":"` + aTime + `"}]}}`,
		},
		{
			name: "ServiceAccount", patchType: types.StrategicMergePatchType, spec: `{"automountServiceAccountToken":false}`,
			object: func(name string) client.Object { return &corev1.ServiceAccount{ObjectMeta: named(name)} },
		},
		{
			name: "PersistentVolumeClaim", patchType: types.StrategicMergePatchType, object: claim, bound: true, statusOn: status,
			spec: `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`, status: checked("lastProbeTime", aTime),
			heartbeat: checked("lastProbeTime", anotherTime),
			more: [][2]string{
				{resizing, `{"status":{"allocatedResources":{"storage":"2Gi"},"allocatedResourceStatuses":{"storage":"ControllerResizeInProgress"},
					"conditions":[{"type":"Resizing","status":"True"}]}}`},
				{resizePending, `{"status":{"allocatedResourceStatuses":{"storage":"NodeResizePending"},
					"conditions":[{"type":"FileSystemResizePending","status":"True"}]}}`},
				{resized, `{"status":{"capacity":{"storage":"2Gi"},"allocatedResourceStatuses":null,"conditions":[
					{"type":"Resizing","$patch":"delete"},{"type":"FileSystemResizePending","$patch":"delete"}]}}`},
			},
		},
		{
			name: "Lease", patchType: types.StrategicMergePatchType, object: lease,
			spec: `{"spec":{"holderIdentity":"another"}}`, heartbeat: `{"spec":{"renewTime":"2026-01-01T00:01:00.000000Z"}}`,
		},
		{
			name: "Node", patchType: types.StrategicMergePatchType, object: node, cluster: true, statusOn: status,
			spec: `{"spec":{"unschedulable":true}}`, status: checked("lastHeartbeatTime", aTime),
			heartbeat: checked("lastHeartbeatTime", anotherTime),
		},
		{
			name: "PriorityClass", patchType: types.StrategicMergePatchType, cluster: true, spec: `{"description":"another"}`,
			object: func(name string) client.Object { return &schedulingv1.PriorityClass{ObjectMeta: named(name), Value: 1} },
		},
	}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
		},
	}
}

func deployment(name string) client.Object {
	return &appsv1.Deployment{ObjectMeta: named(name), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate(),
	}}
}

// pod waits for a scheduler that never comes.
func pod(name string) client.Object {
	return &corev1.Pod{ObjectMeta: named(name), Spec: podTemplate().Spec}
}

func service(name string) client.Object {
	return &corev1.Service{ObjectMeta: named(name), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
}

func lease(name string) client.Object {
	return &coordinationv1.Lease{ObjectMeta: named(name), Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("one"), RenewTime: new(metav1.NowMicro()),
	}}
}

func node(name string) client.Object {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
}

const storageClass = "growing"

func claim(name string) client.Object {
	return &corev1.PersistentVolumeClaim{ObjectMeta: named(name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(storageClass),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
	}}
}
