package reversewordsapp_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/reversewordsapp/templates"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// folder is one that --templates names, which is empty at first.
type folder struct{ suite.Folder }

func newFolder(t *testing.T) folder {
	t.Helper()
	return folder{suite.Folder{Path: t.TempDir(), Defaults: templates.Files}}
}

// start runs an operator with the folder, in a namespace of its own.
func (f folder) start(t *testing.T) scene {
	t.Helper()
	s := scene{namespace: shared.Namespace(t), name: "shop"}
	s.operator = f.startFor(t, s)
	return s
}

func (f folder) startFor(t *testing.T, s scene) *operator.Process {
	t.Helper()
	return startWith(t, installed(t), "--templates", f.Path, "--watch-namespace", s.namespace)
}

// breakDeployment writes a manifest that is wrong in line 8.
func (f folder) breakDeployment(t *testing.T) {
	t.Helper()
	f.Override(t, "deployment.yaml", "replicas: {{.Replicas}}", "replicsa: {{.Replicas}}")
}

const brokenDeployment = "deployment.yaml:8: spec.replicsa: is not a field of this kind"

// warnings are the notes of the events that warn of templates.
func (s scene) warnings(t *testing.T) []string {
	t.Helper()
	return tests.Warnings(t, s.namespace, s.name, "InvalidTemplate")
}

// versions are the resourceVersions of all Deployments and Services, by name.
func (s scene) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}} {
		require.NoError(t, human(t).List(t.Context(), list, client.InNamespace(s.namespace)))
		switch list := list.(type) {
		case *appsv1.DeploymentList:
			for i := range list.Items {
				versions[list.Items[i].Name] = list.Items[i].ResourceVersion
			}
		case *corev1.ServiceList:
			for i := range list.Items {
				versions[list.Items[i].Name] = list.Items[i].ResourceVersion
			}
		}
	}
	return versions
}

// TestTemplateLabel adds a label while the operator runs, and removes it again.
func TestTemplateLabel(t *testing.T) {
	f := newFolder(t)
	s := f.start(t)
	s.create(t)
	s.settle(t)
	mark := shared.Mark()
	f.Override(t, "service.yaml", "labels:\n", "labels:\n    team: blue\n")
	eventually(t, func(context.Context) error {
		return expect(s.service(t).Labels["team"] == "blue", "%v", s.service(t).Labels)
	})
	s.settle(t)
	require.Equal(t, map[string]int{"patch services": 1}, s.requests(t, mark))

	f.Remove(t, "service.yaml")
	eventually(t, func(context.Context) error {
		return expect(s.service(t).Labels["team"] == "", "%v", s.service(t).Labels)
	})
	s.settle(t)
}

// TestBrokenTemplate breaks a manifest while the operator runs, and fixes it.
func TestBrokenTemplate(t *testing.T) {
	f := newFolder(t)
	s := f.start(t)
	s.create(t)
	s.settle(t)
	before := s.versions(t)

	f.breakDeployment(t)
	ready := s.waitForReason(t, "InvalidTemplate")
	require.Equal(t, brokenDeployment, ready.Message)
	require.Equal(t, metav1.ConditionTrue, condition(s.app(t), notReadyCondition).Status)
	eventually(t, func(context.Context) error {
		return expect(slices.Equal(s.warnings(t), []string{brokenDeployment}), "%v", s.warnings(t))
	})

	// The children stay despite changes of the spec, and their state is still reported. The error
	// is reported once.
	mark := shared.Mark()
	s.change(t, `{"replicas":3}`)
	s.waitForReason(t, "InvalidTemplate")
	s.reconcile(t)
	require.Equal(t, before, s.versions(t))
	require.Empty(t, s.requests(t, mark))
	s.waitForPods(t, func() []string { return s.podNames(t) })
	require.Len(t, s.app(t).Status.Children, 2)

	f.Override(t, "service.yaml", "kind: Service", "kind: ConfigMap")
	f.Remove(t, "deployment.yaml")
	eventually(t, func(context.Context) error {
		return expect(len(s.warnings(t)) == 2, "another problem is another event: %v", s.warnings(t))
	})
	require.Equal(t, before, s.versions(t))

	f.Remove(t, "service.yaml")
	s.settle(t)
	eventually(t, func(context.Context) error {
		pods := s.app(t).Status.AppPods
		return expect(len(pods) == 3, "%v", pods)
	})
}

// TestBrokenFromTheStart makes nothing until the folder does.
func TestBrokenFromTheStart(t *testing.T) {
	f := newFolder(t)
	f.Write(t, "deploy.yaml", "")
	s := f.start(t)
	s.create(t)
	ready := s.waitForReason(t, "InvalidTemplate")
	require.Contains(t, ready.Message, "deploy.yaml: overrides nothing")
	require.Empty(t, s.versions(t))
	f.Remove(t, "deploy.yaml")
	s.settle(t)
}

// TestTemplateNames gives the children other names and the pods other labels, none of which
// the operator has ever heard of.
func TestTemplateNames(t *testing.T) {
	f := newFolder(t)
	s := f.start(t)
	s.create(t)
	s.settle(t)
	earlier := s.podNames(t)

	// The names come last: a Deployment that was made before could not select by other labels.
	for _, file := range []string{"deployment.yaml", "service.yaml"} {
		f.Override(t, file, "app: {{quote .Name}}", "example.org/of: {{quote .Name}}")
	}
	f.Write(t, "names.tpl", `{{define "deployment"}}{{.Name}}-words{{end}}{{define "service"}}{{.Name}}-front{{end}}`)
	s.waitUntilGone(t, "dp-shop", &appsv1.Deployment{})
	s.waitUntilGone(t, "service-shop", &corev1.Service{})
	s.settleAs(t, "shop-words")
	eventually(t, func(context.Context) error {
		pods := s.app(t).Status.AppPods
		return expect(len(pods) == 2, "%v", pods)
	})
	status := s.app(t).Status
	require.Equal(t, []string{"shop-words", "shop-front"}, []string{status.Children[0].Name, status.Children[1].Name})
	for _, pod := range status.AppPods {
		require.True(t, strings.HasPrefix(pod, "shop-words-"), pod)
		require.NotContains(t, earlier, pod)
	}

	// Pods are heard of by whom they belong to.
	s.change(t, `{"appVersion":"missing"}`)
	ready := s.waitForReason(t, "ImagePullBackOff")
	require.Contains(t, ready.Message, `pod "shop-words-`)
	s.change(t, `{"appVersion":"latest"}`)
	s.settleAs(t, "shop-words")

	// And all goes by that, too.
	s.delete(t)
	s.waitUntilGone(t, s.name, s.named())
	s.isAbsent(t, "shop-words", &appsv1.Deployment{})
	s.isAbsent(t, "shop-front", &corev1.Service{})
}

// settleAs is settle with a Deployment of that name.
func (s scene) settleAs(t *testing.T, deployment string) {
	t.Helper()
	tests.Settle(t, s.operator, s.named(), func(ctx context.Context) error {
		if err := operator.RolledOut(ctx, human(t), client.ObjectKey{Namespace: s.namespace, Name: deployment}); err != nil {
			return err
		}
		return isReady(s.app(t))
	})
}

// TestTemplateSelector changes an immutable field of an existing Deployment.
func TestTemplateSelector(t *testing.T) {
	f := newFolder(t)
	s := f.start(t)
	s.create(t)
	s.settle(t)
	uid := s.deployment(t).UID
	f.Override(t, "deployment.yaml", "app: {{quote .Name}}", "of: {{quote .Name}}")
	s.waitForReason(t, "Immutable")
	require.Equal(t, uid, s.deployment(t).UID)
	f.Remove(t, "deployment.yaml")
	s.settle(t)
}

// TestRenameWhileDown renames the children while nobody looks, and has one of the earlier
// names hidden from the cache: no child is left when the ReverseWordsApp is gone.
func TestRenameWhileDown(t *testing.T) {
	f := newFolder(t)
	s := f.start(t)
	s.create(t)
	s.settle(t)
	require.NoError(t, s.operator.Stop())
	s.patch(t, s.service(t), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`)
	f.Write(t, "names.tpl", `{{define "deployment"}}{{.Name}}-words{{end}}{{define "service"}}{{.Name}}-front{{end}}`)
	s.operator = f.startFor(t, s)
	s.settleAs(t, "shop-words")
	require.NotEmpty(t, s.service(t).UID, "what the cache does not show is not pruned")
	s.delete(t)
	s.waitUntilGone(t, s.name, s.named())
	require.Empty(t, s.versions(t))
}

// TestRemovalWithBrokenTemplates deletes ReverseWordsApps when no template can be read.
func TestRemovalWithBrokenTemplates(t *testing.T) {
	f := newFolder(t)
	s := f.start(t)
	s.create(t)
	s.settle(t)
	f.breakDeployment(t)
	s.waitForReason(t, "InvalidTemplate")
	s.delete(t)
	s.waitUntilGone(t, s.name, s.named())
	require.Empty(t, s.versions(t))
	require.Empty(t, s.pods(t))
}

// TestHostileApps has names and versions that would be something else in a template, were
// they not one value.
func TestHostileApps(t *testing.T) {
	s := newFolder(t).start(t)
	for _, name := range []string{"null", "true", "0x10", "1e3", "2026-01-02"} {
		s.name = name
		s.create(t)
		s.settle(t)
		require.Equal(t, map[string]string{"app": name}, s.deployment(t).Spec.Selector.MatchLabels)
	}
	for _, version := range []string{"a\"b", "a\nb", "a\n---\nkind: Pod", "{{.Name}}", "a #b", "a: b"} {
		s.name = "hostile"
		app := s.named()
		app.Spec.AppVersion = version
		require.True(t, apierrors.IsInvalid(human(t).Create(t.Context(), app)), version)
	}
	s.name = "hostile"
	s.create(t, func(app *v1alpha1.ReverseWordsApp) { app.Labels = map[string]string{"team": "yes"} })
	s.settle(t)
}
