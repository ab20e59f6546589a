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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/reversewordsapp/templates"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// templateDir is one that --templates names, which overrides nothing at first.
type templateDir struct{ suite.Folder }

func newTemplateDir(t *testing.T) templateDir {
	t.Helper()
	return templateDir{suite.NewFolder(t, templates.Files)}
}

// start runs an operator with the folder, in a namespace of its own.
func (d templateDir) start(t *testing.T) fixture {
	t.Helper()
	f := fixture{namespace: shared.Namespace(t), name: "shop"}
	f.operator = d.startFor(t, f)
	return f
}

func (d templateDir) startFor(t *testing.T, f fixture) *operator.Process {
	t.Helper()
	return startWith(t, installed(t), "--templates", d.Path, "--watch-namespace", f.namespace)
}

// breakDeployment writes a manifest that is wrong in line 7.
func (d templateDir) breakDeployment(t *testing.T) {
	t.Helper()
	d.Override(t, "deployment.yaml", "replicas: {{.Replicas}}", "replicsa: {{.Replicas}}")
}

const brokenDeployment = "deployment.yaml:7: spec.replicsa: is not a field of this kind"

// warnings are the notes of the events that warn of templates.
func (f fixture) warnings(t *testing.T) []string {
	t.Helper()
	return tests.Warnings(t, f.namespace, f.name, "InvalidTemplate")
}

// childNames are the names of all Deployments and Services.
func (f fixture) childNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}} {
		require.NoError(t, admin(t).List(t.Context(), list, client.InNamespace(f.namespace)))
		require.NoError(t, meta.EachListItem(list, func(item runtime.Object) error {
			names = append(names, item.(client.Object).GetName())
			return nil
		}))
	}
	return names
}

// TestTemplateLabel adds a label while the operator runs, and removes it again.
func TestTemplateLabel(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.start(t)
	f.create(t)
	f.settle(t)
	mark := shared.Mark()
	d.Override(t, "service.yaml", `{{template "labels" .}}`, `{{template "labels" .}}, team: blue`)
	eventually(t, func(context.Context) error {
		return expect(f.service(t).Labels["team"] == "blue", "%v", f.service(t).Labels)
	})
	f.settle(t)
	require.Equal(t, map[string]int{"patch services": 1}, f.requests(t, mark))

	d.Remove(t, "service.yaml")
	eventually(t, func(context.Context) error {
		return expect(f.service(t).Labels["team"] == "", "%v", f.service(t).Labels)
	})
	f.settle(t)
}

// TestBrokenTemplate breaks a manifest while the operator runs, and fixes it.
func TestBrokenTemplate(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.start(t)
	f.create(t)
	f.settle(t)
	mark := shared.Mark()

	d.breakDeployment(t)
	ready := f.waitForReason(t, "InvalidTemplate")
	require.Equal(t, brokenDeployment, ready.Message)
	require.Equal(t, metav1.ConditionTrue, condition(f.app(t), notReadyCondition).Status)
	eventually(t, func(context.Context) error {
		return expect(slices.Equal(f.warnings(t), []string{brokenDeployment}), "%v", f.warnings(t))
	})

	// The children stay despite changes of the spec, and their state is still reported. The error
	// is reported once.
	f.change(t, `{"replicas":3}`)
	f.waitForReason(t, "InvalidTemplate")
	f.reconcile(t)
	require.Empty(t, f.requests(t, mark))
	f.waitForPods(t, func() []string { return f.podNames(t) })
	require.Len(t, f.app(t).Status.Children, 2)

	d.Override(t, "service.yaml", "kind: Service", "kind: ConfigMap")
	d.Remove(t, "deployment.yaml")
	eventually(t, func(context.Context) error {
		return expect(len(f.warnings(t)) == 2, "another problem is another event: %v", f.warnings(t))
	})
	require.Empty(t, f.requests(t, mark))

	d.Remove(t, "service.yaml")
	f.settle(t)
	eventually(t, func(context.Context) error {
		pods := f.app(t).Status.AppPods
		return expect(len(pods) == 3, "%v", pods)
	})
}

// TestBrokenFromTheStart makes nothing until the folder does.
func TestBrokenFromTheStart(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	d.Write(t, "deploy.yaml", "")
	f := d.start(t)
	f.create(t)
	ready := f.waitForReason(t, "InvalidTemplate")
	require.Contains(t, ready.Message, "deploy.yaml: overrides nothing")
	require.Empty(t, f.childNames(t))
	d.Remove(t, "deploy.yaml")
	f.settle(t)
}

// TestTemplateNames gives the children other names and the pods other labels, none of which
// the operator has ever heard of.
func TestTemplateNames(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.start(t)
	f.create(t)
	f.settle(t)
	earlier := f.podNames(t)

	// The names come last: a Deployment that was made before could not select by other labels.
	d.Write(t, "labels.tpl", `{{define "selector"}}example.org/of: {{quote .Name}}{{end}}{{define "labels"}}{{template "selector" .}}{{end}}`)
	d.Write(t, "names.tpl", `{{define "deployment"}}{{.Name}}-words{{end}}{{define "service"}}{{.Name}}-front{{end}}`)
	f.waitUntilGone(t, "dp-shop", &appsv1.Deployment{})
	f.waitUntilGone(t, "service-shop", &corev1.Service{})
	f.settleAs(t, "shop-words")
	eventually(t, func(context.Context) error {
		pods := f.app(t).Status.AppPods
		return expect(len(pods) == 2, "%v", pods)
	})
	status := f.app(t).Status
	require.Equal(t, []string{"shop-words", "shop-front"}, []string{status.Children[0].Name, status.Children[1].Name})
	for _, pod := range status.AppPods {
		require.True(t, strings.HasPrefix(pod, "shop-words-"), pod)
		require.NotContains(t, earlier, pod)
	}

	// Pods are heard of by whom they belong to.
	f.change(t, `{"appVersion":"missing"}`)
	ready := f.waitForReason(t, "ImagePullBackOff")
	require.Contains(t, ready.Message, `pod "shop-words-`)
	f.change(t, `{"appVersion":"latest"}`)
	f.settleAs(t, "shop-words")

	// And all goes by that, too.
	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	f.isAbsent(t, "shop-words", &appsv1.Deployment{})
	f.isAbsent(t, "shop-front", &corev1.Service{})
}

// settleAs is settle with a Deployment of that name.
func (f fixture) settleAs(t *testing.T, deployment string) {
	t.Helper()
	tests.Settle(t, f.operator, f.named(), func(ctx context.Context) error {
		if err := operator.RolledOut(ctx, admin(t), client.ObjectKey{Namespace: f.namespace, Name: deployment}); err != nil {
			return err
		}
		return isReady(f.app(t))
	})
}

// TestTemplateSelector changes an immutable field of an existing Deployment.
func TestTemplateSelector(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.start(t)
	f.create(t)
	f.settle(t)
	uid := f.deployment(t).UID
	d.Override(t, "labels.tpl", "component: web", "component: front")
	f.waitForReason(t, "Immutable")
	require.Equal(t, uid, f.deployment(t).UID)
	d.Remove(t, "labels.tpl")
	f.settle(t)
}

// TestInvalidChildName has a template give the Service a name that no Service may have.
func TestInvalidChildName(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	d.Override(t, "names.tpl", "service-{{.Name}}", "{{.Name}}.front")
	f := d.start(t)
	f.create(t)
	require.Contains(t, f.waitForReason(t, "InvalidName").Message, "DNS-1035")
	require.NotNil(t, f.app(t).Status.AppPods)
	mark := shared.Mark()
	f.reconcile(t)
	require.Empty(t, f.allRequests(t, mark), "what cannot be helped is not tried again and again")
	f.waitForWarnings(t, "InvalidName")
	require.Empty(t, f.childNames(t))
	d.Remove(t, "names.tpl")
	f.settle(t)
}

// TestRenameWhileDown renames the children while nobody looks, and has one of the earlier
// names hidden from the cache: no child is left when the ReverseWordsApp is gone.
func TestRenameWhileDown(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.start(t)
	f.create(t)
	f.settle(t)
	require.NoError(t, f.operator.Stop())
	f.patch(t, f.service(t), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`)
	d.Write(t, "names.tpl", `{{define "deployment"}}{{.Name}}-words{{end}}{{define "service"}}{{.Name}}-front{{end}}`)
	f.operator = d.startFor(t, f)
	f.settleAs(t, "shop-words")
	require.NotEmpty(t, f.service(t).UID, "what the cache does not show is not pruned")
	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	require.Empty(t, f.childNames(t))
}

// TestRemovalWithBrokenTemplates deletes ReverseWordsApps when no template can be read.
func TestRemovalWithBrokenTemplates(t *testing.T) {
	d := newTemplateDir(t)
	f := d.start(t)
	f.create(t)
	f.settle(t)
	d.breakDeployment(t)
	f.waitForReason(t, "InvalidTemplate")
	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	require.Empty(t, f.childNames(t))
	require.Empty(t, f.pods(t))
}

// TestHostileApps has names and versions that would be something else in a template, were
// they not one value.
func TestHostileApps(t *testing.T) {
	f := newTemplateDir(t).start(t)
	for _, name := range []string{"null", "true", "0x10", "1e3", "2026-01-02"} {
		f.name = name
		f.create(t)
		f.settle(t)
		require.Equal(t, selectorOf(name), f.deployment(t).Spec.Selector.MatchLabels)
	}
	for _, version := range []string{"a\"b", "a\nb", "a\n---\nkind: Pod", "{{.Name}}", "a #b", "a: b"} {
		f.name = "hostile"
		app := f.named()
		app.Spec.AppVersion = version
		require.True(t, apierrors.IsInvalid(admin(t).Create(t.Context(), app)), version)
	}
	f.name = "hostile"
	f.create(t, func(app *v1alpha1.ReverseWordsApp) { app.Labels = map[string]string{"team": "yes"} })
	f.settle(t)
}
