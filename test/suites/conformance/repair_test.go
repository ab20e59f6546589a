package conformance_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	repairsLeftovers = "edits that block every apply are put back"
	keepsOrder       = "reordered lists are put back"
)

// foreignPorts is a sidecar before ours, with a port of the same name and number.
var foreignPorts = edit{"a sidecar with ports", func(obj client.Object) {
	template := podTemplateOf(obj)
	sidecar := corev1.Container{
		Name: "sidecar", Image: "example.com/sidecar:1",
		Ports: []corev1.ContainerPort{{Name: "theirs", ContainerPort: 99}, {Name: "more", ContainerPort: 98}},
	}
	template.Spec.Containers = append([]corev1.Container{sidecar}, template.Spec.Containers...)
}}

// foreignPort is in our own container.
var foreignPort = edit{"a container port", func(obj client.Object) {
	main := mainOf(podTemplateOf(obj))
	main.Ports = append(main.Ports, corev1.ContainerPort{Name: "debug", ContainerPort: 97})
}}

// blockingEdits are changes to a pod template whose leftovers conflict with our fields.
var blockingEdits = []edit{
	{"a named containerPort", func(obj client.Object) { mainOf(podTemplateOf(obj)).Ports[0].ContainerPort = 54 }},
	{"another kind of probe", func(obj client.Object) {
		mainOf(podTemplateOf(obj)).ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)},
		}}
	}},
}

// An editCase is an edit by the admin in addition to other programs' fields.
type editCase struct {
	kindCase
	additions, edits []edit
}

func (e editCase) title() string { return e.kindCase.name }

func editCases() []editCase {
	port := on("a port", func(s *corev1.Service) { s.Spec.Ports[0].Port = 54 })
	more := on("a port more", func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "theirs", Port: 99})
	})
	protocol := on("a protocol", func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolSCTP })
	return []editCase{
		{kindCase: service(), additions: []edit{more}, edits: []edit{port, protocol}},
		{kindCase: loadBalancer(), edits: []edit{port, protocol}},
		{kindCase: deployment(), additions: []edit{foreignPorts, foreignPort}, edits: blockingEdits},
		{kindCase: admissionPolicyBinding(), edits: []edit{
			on("an action that does not go with ours", func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
				p.Spec.ValidationActions[0] = admissionregistrationv1.Warn
			}),
		}},
	}
}

// TestRepair: edits whose leftovers make every apply invalid are put back all the
// same, by a few requests that change nothing else.
func TestRepair(t *testing.T) {
	t.Parallel()
	inModes(t, editCases(), editCase.title, everyMode, func(t *testing.T, a access, tc editCase) {
		newFixture(t, a, tc.kindCase).isRepaired(tc.additions, tc.edits)
	})
}

// TestRepairOfPods is TestRepair for kinds with a pod template.
func TestRepairOfPods(t *testing.T) {
	t.Parallel()
	forEachFixture(t, templated(), firstInEveryMode, func(f *fixture) {
		if f.name == "StatefulSet" && serverBefore("1.34") {
			f.acceptsLeftovers(blockingEdits)
			return
		}
		f.isRepaired([]edit{foreignPorts, foreignPort}, blockingEdits)
	})
}

// acceptsLeftovers: if the API server does not validate the object, the apply is accepted, and leftovers are additions of
// others.
func (f *fixture) acceptsLeftovers(edits []edit) {
	f.t.Helper()
	f.createIsOneRequest()
	for _, change := range edits {
		f.editAndRest(change)
		res, requests := f.pass()
		f.requireOperation(res, ensure.Updated, ensure.Drifted, change.name)
		f.requireWrites(requests, 1, change.name)
		f.requireFiveFreePasses("after an apply")
	}
	f.excepts(repairsLeftovers, "the server does not validate the pod template, so that the edit stays beside our fields", "")
}

func (f *fixture) isRepaired(additions, edits []edit) {
	f.t.Helper()
	f.createIsOneRequest()
	for _, add := range additions {
		f.edit(add)
		f.settle()
	}
	for _, change := range edits {
		for _, turn := range []string{" once", " again"} {
			before := f.live()
			f.editAndRest(change)
			res, requests := f.pass()
			f.requireOperation(res, ensure.Updated, ensure.Drifted, change.name+turn)
			f.requireRepair(requests, change.name+turn)
			f.requireSame(before, f.live(), change.name+turn)
			f.requireFiveFreePasses("after a repair")
		}
	}
	f.requireNoUpdateEntry()
	f.noteShown(repairsLeftovers)
}

// wellFilled returns s with several items in each list of its pods.
func wellFilled(k kindCase) kindCase {
	desired := k.desired
	k.desired = func() client.Object {
		obj := desired()
		spec := &podTemplateOf(obj).Spec
		spec.InitContainers = []corev1.Container{
			{Name: "first", Image: "example.com/init:1"}, {Name: "second", Image: "example.com/init:1"}, {Name: "third", Image: "example.com/init:1"},
		}
		spec.Volumes = append(spec.Volumes,
			corev1.Volume{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		)
		main := mainOf(podTemplateOf(obj))
		main.VolumeMounts = append(main.VolumeMounts,
			corev1.VolumeMount{Name: "cache", MountPath: "/cache"}, corev1.VolumeMount{Name: "data", MountPath: "/data"})
		spec.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}}
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}}
		return obj
	}
	return k
}

// reorders are changes to the order of the lists in a pod template. Our containers are swapped
// around a foreign one.
func reorders() []edit {
	inPods := func(name string, do func(spec *corev1.PodSpec, main *corev1.Container)) edit {
		return edit{name, func(obj client.Object) {
			template := podTemplateOf(obj)
			do(&template.Spec, mainOf(template))
		}}
	}
	return []edit{
		inPods("containers", func(spec *corev1.PodSpec, _ *corev1.Container) { slices.Reverse(spec.Containers) }),
		inPods("init containers", func(spec *corev1.PodSpec, _ *corev1.Container) { slices.Reverse(spec.InitContainers) }),
		inPods("volumes", func(spec *corev1.PodSpec, _ *corev1.Container) { slices.Reverse(spec.Volumes) }),
		inPods("tolerations", func(spec *corev1.PodSpec, _ *corev1.Container) { slices.Reverse(spec.Tolerations) }),
		inPods("pull secrets", func(spec *corev1.PodSpec, _ *corev1.Container) { slices.Reverse(spec.ImagePullSecrets) }),
		inPods("environment", func(_ *corev1.PodSpec, main *corev1.Container) { slices.Reverse(main.Env) }),
		inPods("arguments", func(_ *corev1.PodSpec, main *corev1.Container) { slices.Reverse(main.Args) }),
		inPods("mounts", func(_ *corev1.PodSpec, main *corev1.Container) { slices.Reverse(main.VolumeMounts) }),
		inPods("ports", func(_ *corev1.PodSpec, main *corev1.Container) { slices.Reverse(main.Ports) }),
	}
}

// TestReordered: lists that a user puts into another order, beside a foreign
// sidecar, are put back by one request, each time.
func TestReordered(t *testing.T) {
	t.Parallel()
	forEachFixture(t, templated(), firstInEveryMode, func(f *fixture) {
		f.kindCase = wellFilled(f.kindCase)
		f.createIsOneRequest()
		f.edit(podAdditions()[0])
		f.settle()
		for _, change := range reorders() {
			for _, turn := range []string{" once", " again"} {
				before := f.live()
				f.editAndRest(change)
				res, requests := f.pass()
				f.requireOperation(res, ensure.Updated, ensure.Drifted, change.name+turn)
				f.requireWrites(requests, 1, change.name+turn)
				f.requireSame(before, f.live(), change.name+turn)
				f.settle()
			}
		}
		f.requireFiveFreePasses("after all")
		f.requireNoUpdateEntry()
		f.noteShown(keepsOrder)
	})
}

// editAndRest edits and waits until the built-in controllers have observed the edit: their writes
// would otherwise be a conflict for the repair, which is retried soon.
func (f *fixture) editAndRest(change edit) {
	f.t.Helper()
	f.edit(change)
	if f.settled != nil {
		f.await("the controllers", func() bool { return f.settled(f.live()) })
	}
	f.awaitCached(f.live())
}

// requireRepair requires the requests of a repair: the refused apply, a read, a dry run that shows the fields without an
// owner, trials, the patch that takes over the conflicting fields, and the apply that removes them. A rollout may interfere;
// then a step is repeated after another read.
func (f *fixture) requireRepair(requests []cluster.Request, about ...any) {
	f.t.Helper()
	reads := len(requests) - writes(requests) - f.access.reads
	require.GreaterOrEqual(f.t, reads, 1, "%v: the server saw %v", about, requests)
	require.LessOrEqual(f.t, reads, 3, "%v: the server saw %v", about, requests)
	require.GreaterOrEqual(f.t, writes(requests), 5, "%v: the server saw %v", about, requests)
	require.LessOrEqual(f.t, writes(requests), 10, "%v: the server saw %v", about, requests)
}

// requireNoUpdateEntry requires that only our applies own the fields that a repair wrote. Otherwise
// fields dropped later would stay.
func (f *fixture) requireNoUpdateEntry() {
	f.t.Helper()
	for _, entry := range f.live().GetManagedFields() {
		if entry.Manager == fieldOwner {
			require.Equal(f.t, metav1.ManagedFieldsOperationApply, entry.Operation)
		}
	}
}
