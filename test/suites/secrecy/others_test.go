package secrecy_test

import (
	"context"
	"errors"
	"strings"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/status"
)

// others are the errors of the packages other than ensure, which have no classes. These packages
// only write to the operator's own object, whose readers may read all of it.
var others = map[string]func(f *fixture) error{
	"a status that the server does not take": func(f *fixture) error {
		return status.Patch(f.ctx, f.admin, f.vault.DeepCopyObject().(*Vault), func(v *Vault) { v.Status.Phase = publicText })
	},
	"a status that a webhook objects to": func(f *fixture) error {
		vault := &Vault{ObjectMeta: f.objectMeta("status")}
		require.NoError(f.t, f.admin.Create(f.ctx, vault))
		return status.Patch(f.ctx, f.admin, vault, func(v *Vault) {
			status.For(v).False(&v.Status.Conditions, deniedCondition, "Denied", publicText)
		})
	},
	"a status that changed meanwhile": func(f *fixture) error {
		vault := &Vault{ObjectMeta: f.meta("old")}
		require.NoError(f.t, f.admin.Create(f.ctx, vault))
		later := vault.DeepCopyObject().(*Vault)
		require.NoError(f.t, f.admin.Update(f.ctx, with(later, func(v *Vault) { v.Annotations["vault.example.com/more"] = secretText })))
		return status.Patch(f.ctx, f.admin, vault, func(v *Vault) { v.Status.Phase = "Open" })
	},
	"a finalizer that a webhook objects to": func(f *fixture) error {
		obj := f.secret("finalizer")
		require.NoError(f.t, f.admin.Create(f.ctx, obj))
		_, err := finalizer.Handle(f.ctx, f.admin, obj, finalizer.Step{Name: deniedFinalizer, Cleanup: nothing})
		return err
	},
	"finalizers that changed meanwhile": func(f *fixture) error {
		obj := f.configMap("changing")
		require.NoError(f.t, f.admin.Create(f.ctx, obj))
		later := obj.DeepCopy()
		later.Finalizers = []string{"example.com/theirs"}
		require.NoError(f.t, f.admin.Update(f.ctx, later))
		f.t.Cleanup(func() { f.unfinalize(context.Background(), obj) })
		_, err := finalizer.Handle(f.ctx, f.admin, obj, finalizer.Step{Name: "example.com/ours", Cleanup: nothing})
		return err
	},
}

func nothing(context.Context) error { return nil }

// errNothingWrong is of a manifest that should have been refused.
var errNothingWrong = errors.New("nothing is wrong")

// manifests are broken, each in another way. The secret is in the text, and in the output of the
// actions.
var manifests = map[string]string{
	"no action":               "data: {{.Password",
	"unknown function":        "data: {{unknown \"MARK\"}}",
	"text as a function":      "data: {{\"MARK\" \"MARK\"}}",
	"unknown key":             "data:\n  password: MARK\n  user: {{.Nothing}}",
	"wrong argument":          "data:\n  password: {{len 3 \"MARK\"}}",
	"too short":               "data:\n  password: {{slice .Password 99}}",
	"no list":                 "data: {}\n{{range .Password}}{{end}}",
	"no list of fields":       "data: {}\n{{range .Struct}}{{end}}",
	"lists that are compared": "data: {}\n{{if eq .List .List}}{{end}}",
	"text for an index":       "data:\n  password: {{index .List .Password}}",
	"no YAML":                 "data:\n  password: MARK: MARK",
	"not closed":              "data:\n  password: 'MARK",
	"alias":                   "data:\n  password: *MARK",
	"tag":                     "data:\n  password: !MARK MARK",
	"unknown field":           "password: MARK",
	"wrong type":              "data: MARK",
	"wrong type from data":    "data: {{.Password}}",
	"wrong type inside":       "data:\n  password: [MARK]",
	"wrong namespace":         "metadata: {namespace: \"{{.Password}}\"}",
	"a document more":         "data:\n  password: {{.Several}}",
	"a key more":              "data:\n  password: {{.Object}}",
	"a key from data":         "data:\n  {{.Password}}: x",
	"no text":                 "data:\n  password: {{.List}}",
	"a date that is none":     "metadata: {creationTimestamp: MARK}",
	"a date from data":        "metadata: {creationTimestamp: {{quote .Password}}}",
	"data that is not base64": "binaryData: {password: \"{{.Password}}!\"}",
}

// render renders a broken manifest.
func (f *fixture) render(broken string) error {
	text := "apiVersion: v1\nkind: ConfigMap\n" + strings.ReplaceAll(broken, "MARK", secretText)
	files := fstest.MapFS{"vault.yaml": {Data: []byte(text)}}
	data := map[string]any{
		"Password": secretText, "Several": secretText + "\n---\npassword: " + secretText, "Object": secretText + ": " + secretText, "List": []string{secretText},
		"Struct": struct{ Password string }{secretText},
	}
	_, err := manifest.Object[*corev1.ConfigMap](manifest.NewRenderer(files, f.scheme), "vault.yaml", f.namespace, data)
	if err == nil {
		return errNothingWrong
	}
	return err
}
