package controller //nolint:testpackage // tests unexported functions

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/bookstore/templates"
	"github.com/trueup-go/trueup/hash"
)

// TestDefaultChildren compares the default children with those of the last version of the operator. With
// other digests, an update of the operator would write all children.
func TestDefaultChildren(t *testing.T) {
	made, err := childrenFor(storeCalled("shop"), overridden(nil))
	require.NoError(t, err)

	want := []client.Object{oldDatabaseService(), oldDatabase(), oldApp(), oldAppService(), oldMongoDBService()}
	for i, got := range made.inOrder() {
		got.GetObjectKind().SetGroupVersionKind(want[i].GetObjectKind().GroupVersionKind()) // not part of the digest
		require.Empty(t, cmp.Diff(want[i], got))
		require.Equal(t, digest(t, want[i]), digest(t, got))
	}
}

func oldMeta(component, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "mall", Name: name, Labels: labelsWith(component, "app", name)}
}

// labelsWith returns the labels of a selector for shop, and more.
func labelsWith(component string, more ...string) map[string]string {
	labels := map[string]string{
		"app.kubernetes.io/name": "bookstore", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/component": component,
	}
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

// podMeta returns the metadata of pods, which the operator adds to.
func podMeta(component, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Labels: labelsWith(component, "app", name, "app.kubernetes.io/managed-by", Name)}
}

var runtimeDefault = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}

func oldDatabaseService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: oldMeta("database", "shop-mongodb"),
		Spec: corev1.ServiceSpec{
			ClusterIP: "None",
			Selector:  labelsWith("database"),
			Ports:     []corev1.ServicePort{{Name: "mongodb", Port: 27018, TargetPort: intstr.FromInt32(27018)}},
		},
	}
}

func oldDatabase() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: oldMeta("database", "shop-mongodb"),
		Spec: appsv1.StatefulSetSpec{
			Replicas:    new(int32(2)),
			ServiceName: "shop-mongodb",
			Selector:    &metav1.LabelSelector{MatchLabels: labelsWith("database")},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: "Delete", WhenScaled: "Retain",
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "mongodb-pvc"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes:      []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"},
					StorageClassName: new("fast"),
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{"storage": resource.MustParse("2Gi")},
					},
				},
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: podMeta("database", "shop-mongodb"),
				Spec: corev1.PodSpec{SecurityContext: runtimeDefault, Containers: []corev1.Container{{
					Name:            "mongodb",
					Image:           "mongo:8.0",
					ImagePullPolicy: "Always",
					Args:            []string{"--bind_ip_all", "--port=27018"},
					Ports:           []corev1.ContainerPort{{Name: "mongodb", ContainerPort: 27018}},
					ReadinessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("mongodb")}}},
					VolumeMounts:    []corev1.VolumeMount{{Name: "mongodb-pvc", MountPath: "/data/db"}},
				}}},
			},
		},
	}
}

func oldApp() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: oldMeta("app", "shop-app"),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labelsWith("app")},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: podMeta("app", "shop-app"),
				Spec: corev1.PodSpec{SecurityContext: runtimeDefault, Containers: []corev1.Container{{
					Name:            "bookstore",
					Image:           "akash125/pyapp:1.0",
					ImagePullPolicy: "Never",
					Env: []corev1.EnvVar{
						{Name: "DB_HOST", Value: "shop-mongodb-0.shop-mongodb"}, {Name: "DB_PORT", Value: "27018"},
					},
					Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: 3000}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}},
				}}},
			},
		},
	}
}

func oldAppService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: oldMeta("app", "shop-app"),
		Spec: corev1.ServiceSpec{
			Type:     "NodePort",
			Selector: labelsWith("app"),
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(3000)}},
		},
	}
}

func oldMongoDBService() *corev1.Service {
	service := oldDatabaseService()
	service.Name = "mongodb-service"
	service.Spec.Selector = labelsWith("database", "statefulset.kubernetes.io/pod-name", "shop-mongodb-0")
	return service
}

// TestPodLabels has templates whose pods have no labels except for the selector. The operator adds its own, and
// leaves the claim template alone.
func TestPodLabels(t *testing.T) {
	const labels = `{{define "database-labels"}}{{template "database-selector" .}}{{end}}` +
		`{{define "app-labels"}}{{template "app-selector" .}}, app.kubernetes.io/managed-by: Helm{{end}}`
	own, err := templates.Files.ReadFile("labels.tpl")
	require.NoError(t, err)
	before, _, _ := strings.Cut(string(own), `{{define "database-labels"`)
	made, err := childrenFor(storeCalled("shop"), overridden(fstest.MapFS{"labels.tpl": {Data: []byte(before + labels)}}))
	require.NoError(t, err)
	for component, pods := range map[string]corev1.PodTemplateSpec{
		"database": made.database.Spec.Template, "app": made.app.Spec.Template,
	} {
		require.Equal(t, labelsWith(component, "app.kubernetes.io/managed-by", Name), pods.Labels)
	}
	require.Empty(t, made.database.Spec.VolumeClaimTemplates[0].Labels)
}

// TestRestricted renders the templates of config/templates/restricted, which differ from the default ones in the
// security contexts only.
func TestRestricted(t *testing.T) {
	store := storeCalled("shop")
	standard, err := childrenFor(store, overridden(nil))
	require.NoError(t, err)
	made, err := childrenFor(store, manifest.NewRenderer(
		manifest.Overlay(os.DirFS("../../config/templates/restricted"), templates.Files), scheme.Scheme))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(standard.inOrder(), made.inOrder(), cmpopts.IgnoreTypes(&corev1.SecurityContext{}, &corev1.PodSecurityContext{})))
	require.EqualValues(t, 999, *made.database.Spec.Template.Spec.SecurityContext.FSGroup)
}

// TestStorageClass takes the class from the spec, or from the template if the spec has none.
func TestStorageClass(t *testing.T) {
	files := changed(t, "accessModes", "storageClassName: slow\n      accessModes")
	store := storeCalled("shop")
	made, err := childrenFor(store, overridden(files))
	require.NoError(t, err)
	require.Equal(t, "fast", *made.database.Spec.VolumeClaimTemplates[0].Spec.StorageClassName)
	store.Spec.BookDB.StorageClassName = nil
	made, err = childrenFor(store, overridden(files))
	require.NoError(t, err)
	require.Equal(t, "slow", *made.database.Spec.VolumeClaimTemplates[0].Spec.StorageClassName)
}

func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, store, says string
	}{
		{name: "short", store: "a"},
		{name: "the longest that fits", store: strings.Repeat("a", 44)},
		{name: "one too long", store: strings.Repeat("a", 45), says: "has 45 characters, and its children's names leave room for 44"},
		{name: "not a DNS label", store: "a.b", says: "DNS-1035"},
		{name: "a digit first", store: "1st", says: "DNS-1035"},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, err := childrenFor(storeCalled(test.store), overridden(nil))
			require.NoError(t, err)
			err = made.checkNames(test.store)
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			for _, child := range made.inOrder() {
				require.Empty(t, validation.IsDNS1035Label(child.GetName()))
			}
			require.Empty(t, validation.IsValidLabelValue(made.database.Name+"-0123456789"), "a label of the pods")
		})
	}
}

// TestHostileSpec renders strings that would add YAML to a manifest if they were not quoted.
func TestHostileSpec(t *testing.T) {
	const hostile = "a\"b\n---\nkind: Pod # {{.Name}} é\x00\u2028"
	store := storeCalled("shop")
	store.Spec.BookApp.Repository, store.Spec.BookDB.Repository = hostile, hostile
	made, err := childrenFor(store, overridden(nil))
	require.NoError(t, err)
	require.Equal(t, hostile+":1.0", made.app.Spec.Template.Spec.Containers[0].Image)
	require.Equal(t, hostile+":8.0", made.database.Spec.Template.Spec.Containers[0].Image)
	require.Len(t, made.inOrder(), 5)
}

// TestDatabaseTemplate renders templates with which the operator could not find volumes, or which specify
// fields that the operator writes.
func TestDatabaseTemplate(t *testing.T) {
	for _, test := range []struct{ name, old, text, says string }{
		{"another Service", "serviceName: {{", "serviceName: x{{", "spec.serviceName: is not the name of the Service in database-service.yaml"},
		{"no Service", "serviceName:", "minReadySeconds: 1 #", "spec.serviceName"},
		{"an expression", "matchLabels: { {{template \"database-selector\" .}} }", "matchExpressions: [{key: app, operator: Exists}]", "spec.selector"},
		{"an additional expression", "matchLabels:", "matchExpressions: [{key: app, operator: Exists}]\n    matchLabels:", "spec.selector"},
		{
			"no claim template", "  volumeClaimTemplates:\n  - metadata:\n      name: mongodb-pvc\n    spec:\n      accessModes: [ReadWriteOnce]\n", "",
			"spec.volumeClaimTemplates: has to contain one",
		},
		{"two claim templates", "volumeClaimTemplates:\n", "volumeClaimTemplates:\n  - metadata: {name: logs}\n", "spec.volumeClaimTemplates: has to contain one"},
		{"no mount", "volumeMounts:\n        - name: mongodb-pvc", "volumeMounts:\n        - name: other", "spec.template.spec.containers: no container mounts"},
		{"replicas", "serviceName:", "replicas: 1\n  serviceName:", "spec.replicas: is written by the operator: leave it out"},
		{"ordinals", "serviceName:", "ordinals: {start: 1}\n  serviceName:", "spec.ordinals"},
		{
			"retention", "serviceName:", "persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n  serviceName:",
			"spec.persistentVolumeClaimRetentionPolicy",
		},
		{
			"a size", "accessModes:", "resources: {requests: {storage: 1Gi}}\n      accessModes:",
			"spec.volumeClaimTemplates[0].spec.resources",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := childrenFor(storeCalled("shop"), overridden(changed(t, test.old, test.text)))
			refused := &manifest.Error{}
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "database.yaml", refused.File)
			require.Contains(t, err.Error(), test.says)
		})
	}
}

// changed returns the default template of the database with text instead of old.
func changed(t *testing.T, old, text string) fstest.MapFS {
	t.Helper()
	manifest, err := templates.Files.ReadFile(databaseFile)
	require.NoError(t, err)
	require.Contains(t, string(manifest), old)
	return fstest.MapFS{databaseFile: {Data: []byte(strings.Replace(string(manifest), old, text, 1))}}
}

// overridden returns a renderer of the default templates and of files, which override them.
func overridden(files fstest.MapFS) *manifest.Renderer {
	return manifest.NewRenderer(manifest.Overlay(files, templates.Files), scheme.Scheme)
}

func storeCalled(name string) *v1alpha1.BookStore {
	return &v1alpha1.BookStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: name},
		Spec: v1alpha1.BookStoreSpec{
			BookApp: v1alpha1.BookApp{
				Repository: "akash125/pyapp", Tag: "1.0", ImagePullPolicy: "Never",
				Port: 80, TargetPort: 3000, ServiceType: "NodePort",
			},
			BookDB: v1alpha1.BookDB{
				Repository: "mongo", Tag: "8.0", ImagePullPolicy: "Always", Replicas: 2, Port: 27018,
				DBSize: resource.MustParse("2Gi"), StorageClassName: new("fast"), Retain: new(false),
			},
		},
	}
}

func digest(t *testing.T, obj hash.Obj) string {
	t.Helper()
	digest, err := hash.Object(obj)
	require.NoError(t, err)
	return digest
}
