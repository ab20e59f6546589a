package application_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// teamLabel is the label that a platform team adds.
const teamLabel = "example.org/team"

// TestTemplates has people override templates while the operator runs.
func TestTemplates(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a label reaches the Deployment by one write": testTemplateLabel,
		"broken templates leave everything as it is":  testBrokenTemplates,
		"a mounted ConfigMap":                         testMountedTemplates,
		"a folder that goes away":                     testTemplatesGoAway,
		"other names":                                 testTemplateNames,
		"the old pods serve until there are new ones": testTemplateNameOfPending,
		"what people write is not read as a manifest": testHostileSpecs,
		"a template without quote":                    testUnquotedTemplate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// templateDir has the templates of a fixture's operator.
type templateDir struct{ suite.Folder }

// newFixtureWithTemplates returns a fixture whose operator looks after nobody else, and takes templates from
// a folder that is not there yet.
func newFixtureWithTemplates(t *testing.T) (fixture, templateDir) {
	t.Helper()
	namespace, dir := shared.Namespace(t), filepath.Join(t.TempDir(), "templates")
	process := startWith(t, installed(t), "--templates", dir, "--templates-optional",
		"--watch-namespace", namespace, "--webhook-bind-address=0")
	f := fixture{operator: process, namespace: namespace, name: "shop"}
	f.create(t)
	f.settle(t)
	return f, templateDir{suite.Folder{Path: dir, Defaults: templates.Files}}
}

// mount updates a mounted ConfigMap as Kubernetes does: it replaces the link to a folder by a link
// to another folder, in one step.
func (d templateDir) mount(t *testing.T, version string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		suite.Folder{Path: filepath.Join(d.Path, version)}.Write(t, name, text)
	}
	link := filepath.Join(d.Path, "..data")
	require.NoError(t, os.Symlink(version, link+"_tmp"))
	require.NoError(t, os.Rename(link+"_tmp", link))
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(d.Path, name)); !os.IsExist(err) {
			require.NoError(t, err)
		}
	}
}

// template returns the operator's own template with some text replaced once.
func template(t *testing.T, name, old, replacement string) string {
	t.Helper()
	text, err := templates.Files.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	return strings.Replace(string(text), old, replacement, 1)
}

// withTeam returns the Deployment's template with one more label, which its pods do not get.
func withTeam(t *testing.T, team string) string {
	t.Helper()
	return template(t, "deployment.yaml", "  labels: {\n", "  labels: {\n    "+teamLabel+": "+team+",\n")
}

// waitForTeam waits until the Deployment has the label with this value, or lacks the label if team
// is empty.
func (f fixture) waitForTeam(t *testing.T, team string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		got := f.deployment(t).Labels[teamLabel]
		return expect(got == team, "the label is %q", got)
	})
	f.settle(t)
}

// waitUntilTaken waits until the operator has taken up the templates with these overridden.
func (f fixture) waitUntilTaken(t *testing.T, files ...string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		taken := f.operator.Entries("loaded manifests")
		return expect(len(taken) > 0 && slices.Equal(taken[len(taken)-1].List("overridden"), files), "taken up: %v", taken)
	})
}

func testTemplateLabel(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	folder.Keep(t)
	pods, mark := f.pods(t), shared.Mark()
	folder.Write(t, "deployment.yaml", withTeam(t, "blue"))
	f.waitForTeam(t, "blue")
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))

	mark = shared.Mark()
	folder.Remove(t, "deployment.yaml")
	f.waitForTeam(t, "")
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))

	still := f.pods(t)
	require.Len(t, still, len(pods))
	for i := range still {
		require.Equal(t, pods[i].UID, still[i].UID, "no rollout")
	}
	require.Len(t, f.operator.Entries("Starting workers"), 1, "it was not started again")
}

func testBrokenTemplates(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	folder.Keep(t)
	var want []string
	for _, broken := range []struct{ file, text, says string }{
		{
			"deployment.yaml", template(t, "deployment.yaml", "replicas:", "replica:"),
			"deployment.yaml:10: spec.replica: is not a field of this kind",
		},
		{
			"deployment.yaml", template(t, "deployment.yaml", "{{.AmountPods}}", "{{.Pods}}"),
			"deployment.yaml:10: can't evaluate field Pods in type templates.Data",
		},
		{"service.yaml", template(t, "service.yaml", "8081", "{{port}}"), `service.yaml:10: function "port" not defined`},
		{
			"service.yaml", template(t, "service.yaml", "kind: Service", "kind: Ingress"),
			"service.yaml:2: kind: is not one of the expected kinds: v1 Service",
		},
		{
			"secret.yaml", template(t, "secret.yaml", "metadata:\n", "metadata:\n  namespace: kube-system\n"),
			"secret.yaml:4: metadata.namespace: differs from the given namespace; leave it out",
		},
		{"names.tpl", "{{define \"secret\"}}\n{{.Name}}-secret", "names.tpl:2: unexpected EOF"},
		{"deploymnet.yaml", "", "deploymnet.yaml: overrides nothing: there are deployment.yaml, labels.tpl, names.tpl, secret.yaml, service.yaml, " +
			"and *.tpl of any name"},
	} {
		mark := shared.Mark()
		folder.Write(t, broken.file, broken.text)
		require.Equal(t, broken.says, f.waitForReason(t, "InvalidTemplate").Message)
		want = append(want, broken.says)
		eventually(t, func(context.Context) error {
			return expect(cmp.Diff(want, f.templateEvents(t)) == "", "%s", cmp.Diff(want, f.templateEvents(t)))
		})
		require.Equal(t, map[string]int{"patch applications/status": 1}, f.allRequests(t, mark), broken.says)

		mark = shared.Mark()
		f.reconcile(t)
		require.Empty(t, f.allRequests(t, mark), "what cannot be helped is not tried again and again")

		mark = shared.Mark()
		folder.Remove(t, broken.file)
		f.settle(t)
		require.Equal(t, map[string]int{"patch applications/status": 1}, f.allRequests(t, mark), "ready again")
	}
}

// templateEvents are the notes of the warnings about the Application's templates, the first
// one first.
func (f fixture) templateEvents(t *testing.T) []string {
	t.Helper()
	return tests.Warnings(t, f.namespace, f.name, "InvalidTemplate")
}

func testMountedTemplates(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	folder.mount(t, "..2026_01_01", map[string]string{"deployment.yaml": withTeam(t, "blue")})
	f.waitForTeam(t, "blue")
	mark := shared.Mark()
	folder.mount(t, "..2026_01_02", map[string]string{"deployment.yaml": withTeam(t, "red")})
	f.waitForTeam(t, "red")
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))
}

// testTemplatesGoAway takes the folder away, from which the Deployment has its name, and gives it back.
func testTemplatesGoAway(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	old := f.deployment(t)
	folder.Write(t, "names.tpl", template(t, "names.tpl", "{{.Name}}-deployment-microservice", "web-{{.Name}}"))
	tests.WaitUntilGone(t, client.ObjectKeyFromObject(old), old)
	tests.Settle(t, f.operator, f.named(), f.isReady)
	mark := shared.Mark()

	require.NoError(t, os.Rename(folder.Path, folder.Path+"-away"))
	require.Contains(t, f.waitForReason(t, "InvalidTemplate").Message, "the folder: does not exist; the last manifests")
	require.NotEmpty(t, get(t, f, "web-shop", &appsv1.Deployment{}).UID)
	require.NoError(t, os.Rename(folder.Path+"-away", folder.Path))
	tests.Settle(t, f.operator, f.named(), f.isReady)
	require.Equal(t, map[string]int{"patch applications/status": 2}, f.allRequests(t, mark))
}

// testTemplateNames has all children take other names, and their own ones again.
func testTemplateNames(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	folder.Keep(t)
	old := f.children(t)
	folder.Write(t, "names.tpl", `{{define "secret"}}web-{{.Name}}-greeting{{end}}
{{define "deployment"}}web-{{.Name}}{{end}}
{{define "service"}}web-{{.Name}}{{end}}
{{define "microservice"}}web-{{.Name}}{{end}}
`)
	eventually(t, func(ctx context.Context) error {
		var names []string
		for _, child := range f.application(t).Status.Children {
			names = append(names, child.Kind+" "+child.Name)
		}
		want := []string{"Secret web-shop-greeting", "Deployment web-shop", "Service web-shop"}
		if diff := cmp.Diff(want, names); diff != "" {
			return fmt.Errorf("other children: %s", diff)
		}
		return f.isReady(ctx)
	})
	for _, child := range old {
		tests.WaitUntilGone(t, client.ObjectKeyFromObject(child), child)
	}
	tests.Settle(t, f.operator, f.named(), f.isReady) // when the operator, too, has heard that they are
	env := get(t, f, "web-shop", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Env[0]
	require.Equal(t, "web-shop-greeting", env.ValueFrom.SecretKeyRef.Name)

	folder.Remove(t, "names.tpl")
	eventually(t, func(ctx context.Context) error {
		var again appsv1.Deployment
		return admin(t).Get(ctx, client.ObjectKeyFromObject(old["Deployment"]), &again)
	})
	f.settle(t)
	tests.WaitUntilGone(t, client.ObjectKey{Namespace: f.namespace, Name: "web-shop"}, &appsv1.Deployment{})
	require.NotEqual(t, old["Deployment"].GetUID(), f.deployment(t).UID)
}

// testTemplateNameOfPending has a Deployment take another name, whose pods then find no node.
func testTemplateNameOfPending(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	old, pods := f.deployment(t), f.pods(t)
	folder.Write(t, "deployment.yaml", template(t, "deployment.yaml", "    spec:\n", "    spec:\n      nodeSelector: {example.org/none: here}\n"))
	folder.Write(t, "names.tpl", template(t, "names.tpl", "{{.Name}}-deployment-microservice", "web-{{.Name}}"))
	eventually(t, func(ctx context.Context) error {
		var pending appsv1.Deployment
		err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "web-shop"}, &pending)
		return errors.Join(err, expect(pending.Status.UnavailableReplicas == 2, "%d pods wait for a node", pending.Status.UnavailableReplicas))
	})
	f.reconcile(t)
	require.Equal(t, old.UID, f.deployment(t).UID)
	all := f.pods(t)
	for i := range pods {
		require.True(t, slices.ContainsFunc(all, func(pod corev1.Pod) bool { return pod.UID == pods[i].UID }), pods[i].Name)
	}

	folder.Remove(t, "deployment.yaml")
	tests.WaitUntilGone(t, client.ObjectKeyFromObject(old), old)
	require.EqualValues(t, 2, get(t, f, "web-shop", &appsv1.Deployment{}).Status.AvailableReplicas)
}

// testHostileSpecs has a greeting for everybody who would rather have a manifest of his own.
func testHostileSpecs(t *testing.T) {
	f, _ := newFixtureWithTemplates(t)
	titles := []string{
		`"`, `'`, `"quoted"`, "two\nlines", "x\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: evil\n", "\n  evil: yes",
		"{{.Image}}", "{{template \"secret\" .}}", "yes", "1.0", "null", "~", "# none", "- item", "{a: b}", "&anchor", "*alias",
		"!!binary eA==", "\u2028\u2029\u0085\ufeff", "tab\tand \\ and \x01", "é 🎉 \U0010ffff", strings.Repeat("x\n", 512),
	}
	for i, title := range titles {
		other := f
		other.name = fmt.Sprintf("hostile-%d", i)
		other.create(t, func(app *v1alpha1.Application) { app.Spec.Title, app.Spec.AmountPods = title, new(int32(0)) })
		other.settle(t)
		require.Equal(t, map[string][]byte{"GREETING_MESSAGE": []byte(title)}, other.secret(t).Data)
	}
	require.Equal(t, len(titles)+1, countObjects(t, f.namespace, &corev1.SecretList{}))
	require.Equal(t, len(titles)+1, countObjects(t, f.namespace, &corev1.ServiceList{}))
	require.Equal(t, len(titles)+1, countObjects(t, f.namespace, &appsv1.DeploymentList{}))
	require.Equal(t, 2, countObjects(t, f.namespace, &corev1.PodList{}), "those of the first")

	for spec, field := range map[v1alpha1.ApplicationSpec]string{
		{Title: strings.Repeat("x\n---\n", 2000)}: "spec.title",
		{Version: "1.0\n---\nkind: Pod"}:          "spec.version",
		{Image: "shop\n---\nkind: Pod"}:           "spec.image",
		{Image: `{{.Title}}"#x`}:                  "spec.image",
	} {
		err := admin(t).Create(t.Context(), &v1alpha1.Application{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "refused"}, Spec: spec,
		})
		require.True(t, apierrors.IsInvalid(err), "%s: %v", field, err)
		require.ErrorContains(t, err, field)
	}
}

func countObjects(t *testing.T, namespace string, list client.ObjectList) int {
	t.Helper()
	require.NoError(t, admin(t).List(t.Context(), list, client.InNamespace(namespace)))
	return meta.LenList(list)
}

// testUnquotedTemplate has a template take free text for a word.
func testUnquotedTemplate(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	folder.Write(t, "secret.yaml", template(t, "secret.yaml", "{{quote .Title}}", "{{.Title}}"))
	f.waitUntilTaken(t, "secret.yaml") // which nothing else shows: both make the same of this title
	f.change(t, `{"title":"Universe"}`)
	f.settle(t)
	require.Equal(t, "Universe", string(f.secret(t).Data["GREETING_MESSAGE"]))

	mark := shared.Mark()
	f.change(t, `{"title":"x\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: evil"}`)
	require.Contains(t, f.waitForReason(t, "InvalidTemplate").Message, "secret.yaml:7: stringData.GREETING_MESSAGE: ")
	require.Empty(t, f.requests(t, mark))
	require.Equal(t, 1, countObjects(t, f.namespace, &corev1.SecretList{}))
	f.change(t, `{"title":"Multiverse"}`)
	f.settle(t)
	require.Equal(t, "Multiverse", string(f.secret(t).Data["GREETING_MESSAGE"]))
}
