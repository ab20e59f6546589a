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
var others = map[string]func(s *scene) error{
	"a status that the server does not take": func(s *scene) error {
		return status.Patch(s.ctx, s.human, s.vault.DeepCopyObject().(*Vault), func(v *Vault) { v.Status.Phase = open })
	},
	"a status that a webhook objects to": func(s *scene) error {
		vault := &Vault{ObjectMeta: s.named("status")}
		require.NoError(s.t, s.human.Create(s.ctx, vault))
		return status.Patch(s.ctx, s.human, vault, func(v *Vault) {
			status.For(v).False(&v.Status.Conditions, deniedCondition, "Denied", open)
		})
	},
	"a status that changed meanwhile": func(s *scene) error {
		vault := &Vault{ObjectMeta: s.meta("old")}
		require.NoError(s.t, s.human.Create(s.ctx, vault))
		later := vault.DeepCopyObject().(*Vault)
		require.NoError(s.t, s.human.Update(s.ctx, with(later, func(v *Vault) { v.Annotations["vault.example.com/more"] = mark })))
		return status.Patch(s.ctx, s.human, vault, func(v *Vault) { v.Status.Phase = "Open" })
	},
	"a finalizer that a webhook objects to": func(s *scene) error {
		obj := s.secret("finalizer")
		require.NoError(s.t, s.human.Create(s.ctx, obj))
		_, err := finalizer.Handle(s.ctx, s.human, obj, finalizer.Step{Name: deniedFinalizer, Cleanup: nothing})
		return err
	},
	"finalizers that changed meanwhile": func(s *scene) error {
		obj := s.configMap("changing")
		require.NoError(s.t, s.human.Create(s.ctx, obj))
		later := obj.DeepCopy()
		later.Finalizers = []string{"example.com/theirs"}
		require.NoError(s.t, s.human.Update(s.ctx, later))
		s.t.Cleanup(func() { s.unfinalize(context.Background(), obj) })
		_, err := finalizer.Handle(s.ctx, s.human, obj, finalizer.Step{Name: "example.com/ours", Cleanup: nothing})
		return err
	},
}

func nothing(context.Context) error { return nil }

// errNothingWrong is of a manifest that should have been refused.
var errNothingWrong = errors.New("nothing is wrong")

// manifests are broken, each in another way. The mark is in the text, and in the output of the
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
func (s *scene) render(broken string) error {
	text := "apiVersion: v1\nkind: ConfigMap\n" + strings.ReplaceAll(broken, "MARK", mark)
	files := fstest.MapFS{"vault.yaml": {Data: []byte(text)}}
	data := map[string]any{
		"Password": mark, "Several": mark + "\n---\npassword: " + mark, "Object": mark + ": " + mark, "List": []string{mark},
		"Struct": struct{ Password string }{mark},
	}
	_, err := manifest.Object[*corev1.ConfigMap](manifest.NewRenderer(files, s.scheme), "vault.yaml", s.namespace, data)
	if err == nil {
		return errNothingWrong
	}
	return err
}
