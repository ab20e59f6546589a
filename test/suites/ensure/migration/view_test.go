package migration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const restarted = "spec.template.metadata.annotations[" + restartedAt + "]"

// restartedDeployment is one that somebody made and the old operator scaled and restarted, with a label.
func restartedDeployment(t *testing.T, namespace string) *appsv1.Deployment {
	t.Helper()
	require.NoError(t, program.Client(t, shared, "kubectl-edit").Create(t.Context(), idle(namespace)))
	old := program.Client(t, shared, oldName)
	update(t, old, idle(namespace), func(live *appsv1.Deployment) {
		live.Labels = map[string]string{"team": "old", "dropped": "x"}
		live.Spec.Replicas = new(int32(2))
		live.Spec.Template.Annotations = map[string]string{restartedAt: "today"}
	})
	return liveOf(t, old, idle(namespace))
}

// TestMigrationOfMetadata: a PartialObjectMetadata has no content to compare.
func TestMigrationOfMetadata(t *testing.T) {
	for i, way := range accesses {
		t.Run(way.name, func(t *testing.T) {
			namespace, name := shared.Namespace(t), "metadata-operator-"+string(rune('0'+i))
			was := restartedDeployment(t, namespace)
			desired := func() client.Object {
				o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, Name: "web", Labels: map[string]string{"team": "new"},
				}}
				o.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
				return o
			}
			c, reader := way.open(t, name)
			e, opts := ensure.New(c, reader, taker), []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
			result := ensureBesideControllers(t, e, desired(), opts...)
			require.Equal(t, ensure.Migrated, result.Cause)
			require.Contains(t, result.Kept, ensure.KeptField{Path: "metadata.labels[dropped]", Manager: oldName})

			is := liveOf(t, c, was)
			require.Equal(t, map[string]string{"team": "new", "dropped": "x"}, is.Labels)
			require.Equal(t, was.Spec, is.Spec)
			begin := shared.Mark()
			require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired(), opts...).Operation)
			require.Empty(t, writesOf(t, begin, name))
		})
	}
}

// A scaledDeployment is a Deployment with only the fields that a scaling program knows.
type scaledDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Replicas *int32 `json:"replicas,omitempty"`
	} `json:"spec,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (d *scaledDeployment) DeepCopyObject() runtime.Object {
	out := &scaledDeployment{TypeMeta: d.TypeMeta, ObjectMeta: *d.ObjectMeta.DeepCopy()}
	if d.Spec.Replicas != nil {
		out.Spec.Replicas = new(*d.Spec.Replicas)
	}
	return out
}

// TestMigrationTellsWhatItsTypeDoesNot: a field that the Go type of desired lacks.
func TestMigrationTellsWhatItsTypeDoesNot(t *testing.T) {
	namespace := shared.Namespace(t)
	was := restartedDeployment(t, namespace)
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(appsv1.SchemeGroupVersion.WithKind("Deployment"), &scaledDeployment{})
	metav1.AddToGroupVersion(scheme, appsv1.SchemeGroupVersion)
	config := program.Config(shared, taker)
	config.ContentType = runtime.ContentTypeJSON
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	e, opts := ensure.New(c, c, taker), []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
	desired := func() client.Object {
		o := &scaledDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
		o.Spec.Replicas = new(int32(2))
		return o
	}
	for _, more := range [][]ensure.Option{{ensure.DryRun()}, nil} {
		result := ensureBesideControllers(t, e, desired(), append(more, opts...)...)
		require.Equal(t, ensure.Migrated, result.Cause)
		require.Contains(t, result.Kept, ensure.KeptField{Path: restarted, Manager: oldName})
	}
	is := liveOf(t, program.Client(t, shared, "test"), was)
	require.Equal(t, was.Spec, is.Spec)
	require.Equal(t, "x", is.Labels["dropped"])
	require.Equal(t, ensure.Unchanged, mustEnsure(t, ensure.New(c, c, taker), desired(), opts...).Operation)
}
