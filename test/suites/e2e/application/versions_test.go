package application_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/api/v1beta1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
)

const definitionName = "applications.application.sample.ibm.com"

// TestVersions uses Applications in both versions.
func TestVersions(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"written as v1alpha1, read as v1beta1":        testAlphaAsBeta,
		"written as v1beta1, read as v1alpha1":        testBetaAsAlpha,
		"both samples":                                testSamples,
		"the address of the webhook is restored once": testAddress,
	} {
		t.Run(name, func(t *testing.T) { test(t, process) })
	}
}

func testAlphaAsBeta(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	f.create(t, func(app *v1alpha1.Application) {
		app.Spec.Version, app.Spec.Image, app.Spec.Title = "2.0.0", "example.org/shop:2", "Universe"
	})
	f.settle(t)
	beta := f.beta(t)
	require.Equal(t, v1beta1.ApplicationSpec{
		Version: "2.0.0", Replicas: new(int32(2)), Image: "example.org/shop:2", Greeting: v1beta1.Greeting{Title: "Universe"},
	}, beta.Spec)
	alpha := f.application(t)
	require.Equal(t, alpha.Status.Conditions, beta.Status.Conditions)
	require.Len(t, beta.Status.Children, 3)
	require.Equal(t, alpha.Generation, beta.Generation)

	mark := shared.Mark()
	f.patch(t, beta, `{"spec":{"replicas":3,"greeting":null}}`)
	f.settle(t)
	require.Equal(t, map[string]int{"patch secrets": 1, "patch deployments": 1}, f.requests(t, mark))
	require.Equal(t, "World", string(f.secret(t).Data["GREETING_MESSAGE"]))
	require.Equal(t, v1alpha1.ApplicationSpec{Version: "2.0.0", AmountPods: new(int32(3)), Image: "example.org/shop:2"}, f.application(t).Spec)
}

func testBetaAsAlpha(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	require.NoError(t, admin(t).Create(t.Context(), &v1beta1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}}))
	f.settle(t)
	require.Equal(t, v1alpha1.ApplicationSpec{Version: "1.0.0", AmountPods: new(int32(1)), Image: image}, f.application(t).Spec, "the same defaults")

	f.patch(t, f.beta(t), `{"spec":{"greeting":{"title":"Universe"}}}`)
	f.settle(t)
	require.Equal(t, "Universe", f.application(t).Spec.Title)
	require.Equal(t, "Universe", string(f.secret(t).Data["GREETING_MESSAGE"]))

	// A client that applies one version takes nothing from a client of the other version.
	kubectl(t, "apply", "--server-side", "--force-conflicts", "--field-manager=alice", "-n", f.namespace, "-f", file(t, `
apiVersion: application.sample.ibm.com/v1alpha1
kind: Application
metadata: {name: shop}
spec: {amountPods: 3}
`))
	kubectl(t, "apply", "--server-side", "--force-conflicts", "--field-manager=bob", "-n", f.namespace, "-f", file(t, `
apiVersion: application.sample.ibm.com/v1beta1
kind: Application
metadata: {name: shop}
spec: {version: "2.0.0"}
`))
	f.settle(t)
	spec := f.beta(t).Spec
	require.Equal(t, v1beta1.ApplicationSpec{
		Version: "2.0.0", Replicas: new(int32(3)), Image: image, Greeting: v1beta1.Greeting{Title: "Universe"},
	}, spec)
}

func testSamples(t *testing.T, process *operator.Process) {
	namespace := shared.Namespace(t)
	samples := filepath.Join(installed(t).Dir, "config", "samples")
	kubectl(t, "apply", "-n", namespace, "-f", samples+"/application.sample_v1alpha1_application.yaml")
	kubectl(t, "apply", "-n", namespace, "-f", samples+"/application.sample_v1beta1_application.yaml")
	for _, name := range []string{"application1", "application2"} {
		f := fixture{operator: process, namespace: namespace, name: name}
		f.settle(t)
	}
	require.Regexp(t, `application2 +1.0.0 +1 +1 +True`, kubectl(t, "get", "applications", "-n", namespace))
}

// testAddress has somebody apply the CRD again, with an address where nobody listens.
func testAddress(t *testing.T, process *operator.Process) {
	o, f := installed(t), newFixture(t, process)
	kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(o.Dir, "config", "crd"))
	eventually(t, func(ctx context.Context) error {
		return admin(t).Get(ctx, client.ObjectKeyFromObject(f.named()), &v1beta1.Application{})
	})
	f.settle(t)
	mark := shared.Mark()
	f.reconcile(t)
	requests, err := shared.Requests(mark, cluster.ByUser(o.User()), cluster.Writes, func(r cluster.Request) bool {
		return r.Namespace == "" || r.Namespace == f.namespace // the namespaces of other tests are being deleted
	})
	require.NoError(t, err)
	require.Empty(t, cluster.Counts(requests))
}

// TestUpgrade upgrades an operator that knows only v1alpha1, and rolls it back. Neither writes a child.
func TestUpgrade(t *testing.T) {
	longform.Only(t)
	o := installed(t)
	text, err := os.ReadFile(filepath.Join(o.Dir, "config", "crd", "bases", "application.sample.ibm.com_applications.yaml"))
	require.NoError(t, err)
	var one apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(text, &one))
	one.Spec.Versions = one.Spec.Versions[:1]
	text, err = yaml.Marshal(&one)
	require.NoError(t, err)
	former, latest := []string{"-f", file(t, string(text))}, []string{"-k", filepath.Join(o.Dir, "config", "crd")}
	install := func(source []string) {
		t.Helper()
		kubectl(t, append([]string{"apply", "--server-side", "--force-conflicts"}, source...)...)
	}

	install(former)
	first := startWith(t, o, "--webhook-bind-address=0")
	fixtures := []fixture{newFixture(t, first), newFixture(t, first)}
	children := []map[string]client.Object{fixtures[0].children(t), fixtures[1].children(t)}
	pods := [][]corev1.Pod{fixtures[0].pods(t), fixtures[1].pods(t)}
	replace := func(args ...string) {
		t.Helper()
		mark := shared.Mark()
		process := startWith(t, o, args...)
		for i := range fixtures {
			fixtures[i].operator = process
			fixtures[i].reconcile(t)
			fixtures[i].settle(t)
			require.Empty(t, fixtures[i].allRequests(t, mark))
			require.Equal(t, children[i], fixtures[i].children(t))
			require.Equal(t, pods[i], fixtures[i].pods(t))
		}
	}

	require.NoError(t, first.Stop())
	install(latest)
	replace()
	require.Equal(t, int32(2), *fixtures[0].beta(t).Spec.Replicas)
	require.NoError(t, fixtures[0].operator.Stop())
	install(former)
	replace("--webhook-bind-address=0")
	require.NoError(t, fixtures[0].operator.Stop())
	install(latest)
	replace()
}

// TestMigrateStorage stores all Applications in v1beta1, restarts the operator, which then needs its own conversion, and
// stores them in v1alpha1 again. An Application whose namespace is gone cannot be written, and has to be deleted first.
func TestMigrateStorage(t *testing.T) {
	longform.Only(t)
	o := installed(t)
	first := start(t)
	f := newFixture(t, first)
	deleteOthers(t, f)
	spare := f
	spare.name = "spare"
	spare.create(t)
	spare.settle(t)
	children, pods := f.children(t), f.pods(t)
	try := func(version string) (string, error) {
		command := exec.CommandContext(t.Context(), "make", "migrate-storage", "VERSION="+version)
		command.Dir = o.Dir
		kubectl, err := cluster.Kubectl(t.Context())
		require.NoError(t, err)
		command.Env = append(os.Environ(), "KUBECONFIG="+shared.Kubeconfig(), "KUBECTL="+kubectl, "WAIT=2")
		output, err := command.CombinedOutput()
		return string(output), err
	}
	migrate := func(version string) {
		t.Helper()
		before := f.application(t)
		output, err := try(version)
		require.NoError(t, err, "%s", output)
		require.Equal(t, []string{version}, definition(t).Status.StoredVersions)
		after := f.application(t)
		require.NotEqual(t, before.ResourceVersion, after.ResourceVersion, "written in the other version")
		require.Equal(t, before.Generation, after.Generation)
		require.Equal(t, before.Spec, after.Spec)
		require.Equal(t, before.Status, after.Status)
	}
	mark := shared.Mark()
	migrate("v1beta1")
	require.NoError(t, first.Stop())
	kubectl(t, "delete", "application", spare.name, "-n", spare.namespace) // without an operator
	f.operator = start(t)
	f.reconcile(t)
	f.settle(t)
	migrate("v1alpha1")
	f.settle(t)
	require.Empty(t, f.allRequests(t, mark))
	require.Equal(t, children, f.children(t))
	require.Equal(t, pods, f.pods(t))

	stranded := newFixture(t, f.operator)
	removeAtOnce(t, stranded.namespace)
	output, err := try("v1beta1")
	require.Error(t, err)
	require.Contains(t, output, stranded.namespace+"/"+stranded.name+" stays in the other version, since its namespace is gone")
	require.Equal(t, []string{"v1alpha1", "v1beta1"}, definition(t).Status.StoredVersions)
	kubectl(t, "delete", definitionName, stranded.name, "-n", stranded.namespace)
	output, err = try("v1beta1")
	require.NoError(t, err, "%s", output)
	require.Equal(t, []string{"v1beta1"}, definition(t).Status.StoredVersions)
	migrate("v1alpha1")
}

// deleteOthers deletes the Applications that earlier tests left, and that are not deleted with their namespaces.
func deleteOthers(t *testing.T, f fixture) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var all v1alpha1.ApplicationList
		err := admin(t).List(ctx, &all)
		for i := range all.Items {
			if app := &all.Items[i]; app.Namespace != f.namespace {
				err = errors.Join(err, client.IgnoreNotFound(admin(t).Delete(ctx, app)))
			}
		}
		return errors.Join(err, expect(len(all.Items) == 1, "%d Applications, some of earlier tests", len(all.Items)))
	})
}

// removeAtOnce removes a namespace without its objects: they stay, as after a restore of a part of a backup.
func removeAtOnce(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(t, admin(t).Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace))
	namespace.Spec.Finalizers = nil
	require.NoError(t, admin(t).SubResource("finalize").Update(t.Context(), namespace))
	require.NoError(t, admin(t).Delete(t.Context(), namespace)) // only marks it
	require.NoError(t, client.IgnoreNotFound(admin(t).Delete(t.Context(), namespace)))
	tests.WaitUntilGone(t, client.ObjectKeyFromObject(namespace), namespace)
}

// TestWebhookService runs two operators behind a Service, as installed. They share a certificate, which they renew
// before it ends.
func TestWebhookService(t *testing.T) {
	longform.Only(t)
	o := installed(t)
	service := useService(t)
	run := func() *operator.Process {
		return startWith(t, o, "--webhook-bind-address=127.0.0.1:0", "--webhook-service="+service.String())
	}
	secret := func() *corev1.Secret {
		var secret corev1.Secret
		require.NoError(t, admin(t).Get(t.Context(), client.ObjectKey{Namespace: service.Namespace, Name: service.Name + "-certificate"}, &secret))
		return &secret
	}

	f := newFixture(t, run())
	f.beta(t)
	created := secret()
	require.Equal(t, corev1.SecretTypeTLS, created.Type)
	require.Equal(t, created.Data["ca.crt"], definition(t).Spec.Conversion.Webhook.ClientConfig.CABundle)
	require.NoError(t, f.operator.Stop())
	f.operator = run()
	f.beta(t)
	require.Equal(t, created.Data, secret().Data, "no certificate is made without need")
	require.NoError(t, f.operator.Stop())

	host := service.Name + "." + service.Namespace + ".svc"
	for name, test := range map[string]certificate{
		"a certificate that ends soon": expiring(t, host, time.Hour),
		"another host":                 expiring(t, "other."+service.Namespace+".svc", time.Hour),
		"no certificate":               {chain: []byte("oops"), key: []byte("oops")},
		"a certificate that the API server does not trust": {
			chain: created.Data[corev1.TLSCertKey], key: created.Data[corev1.TLSPrivateKeyKey], bundle: []byte("oops"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			edited := secret()
			edited.Data[corev1.TLSCertKey], edited.Data[corev1.TLSPrivateKeyKey], edited.Data["ca.crt"] = test.chain, test.key, test.bundle
			require.NoError(t, admin(t).Update(t.Context(), edited))
			f.operator = run()
			f.beta(t)
			renewed := secret().Data
			require.NotEqual(t, test.chain, renewed[corev1.TLSCertKey])
			require.True(t, bytes.HasPrefix(renewed["ca.crt"], renewed[corev1.TLSCertKey]))
			require.Equal(t, name == "a certificate that ends soon", bytes.HasSuffix(renewed["ca.crt"], test.chain), "another instance may still serve it")
			require.NoError(t, f.operator.Stop())
		})
	}
	kubectl(t, "delete", "secret", created.Name, "-n", created.Namespace)
	f.operator = run()
	f.beta(t)
}

// useService has the API server reach the webhook through the Service of config/default, which leads to this machine, until
// the test ends.
func useService(t *testing.T) types.NamespacedName {
	t.Helper()
	service := types.NamespacedName{Namespace: installed(t).Namespace, Name: "operator-application-webhook-service"}
	reach := func(ctx context.Context, how string) error {
		patch := `[{"op":"replace","path":"/spec/conversion/webhook/clientConfig","value":` + how + `}]`
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}}
		return admin(t).Patch(ctx, crd, client.RawPatch(types.JSONPatchType, []byte(patch)))
	}
	t.Cleanup(func() { // as in config/crd
		require.NoError(t, reach(context.Background(), `{"url":"https://127.0.0.1:9/convert"}`))
	})
	require.NoError(t, reach(t.Context(), `{"service":{"namespace":"`+service.Namespace+`","name":"`+service.Name+`","path":"/convert"}}`))
	require.NoError(t, shared.LeadHere(t.Context(), service.Namespace, service.Name))
	return service
}

// A certificate of the webhook, as the Secret has it.
type certificate struct{ chain, key, bundle []byte }

// expiring returns a certificate that ends after this time.
func expiring(t *testing.T, host string, after time.Duration) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(after),
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	chain = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain})
	return certificate{chain: chain, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), bundle: chain}
}

// TestBackup saves the Applications of a namespace, deletes them but not their children, and restores them as
// docs/upgrade.md says. The pods run on.
func TestBackup(t *testing.T) {
	longform.Only(t)
	process := start(t)
	f := newFixture(t, process)
	pods := f.pods(t)
	saved := kubectl(t, "get", "applications", "-n", f.namespace, "-o", "yaml")
	saved = regexp.MustCompile(`(?m)^ {4}(uid|resourceVersion):.*\n`).ReplaceAllString(saved, "")
	former := f.application(t)
	kubectl(t, "delete", "application", f.name, "-n", f.namespace, "--cascade=orphan")
	kubectl(t, "apply", "-f", file(t, saved))
	f.settle(t)
	require.NotEqual(t, former.UID, f.application(t).UID)
	require.Equal(t, former.Spec, f.application(t).Spec)
	for kind, child := range f.children(t) {
		require.Equal(t, f.application(t).UID, child.GetOwnerReferences()[0].UID, kind)
	}
	require.Equal(t, pods, f.pods(t))
}

// beta returns the Application in v1beta1.
func (f fixture) beta(t *testing.T) *v1beta1.Application {
	t.Helper()
	return get(t, f, f.name, &v1beta1.Application{})
}

func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var definition apiextensionsv1.CustomResourceDefinition
	require.NoError(t, admin(t).Get(t.Context(), client.ObjectKey{Name: definitionName}, &definition))
	return &definition
}

// file writes a file for the test, and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp(shared.Dir(), "objects") //nolint:usetesting // t.TempDir has the commas of t.Name, at which kubectl splits
	require.NoError(t, err)
	path := filepath.Join(dir, "objects.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.TrimLeft(text, "\n")), 0o600))
	return path
}
