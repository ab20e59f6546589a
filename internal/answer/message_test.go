package answer_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trueup-go/trueup/internal/answer"
)

var (
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	deployment  = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

// misfit begins the message about an object that does not fit its schema, and names it.
const misfit = "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): "

// invalid is what the API server answers to a Deployment called web.
func invalid(faults ...*field.Error) error { return apierrors.NewInvalid(deployment, "web", faults) }

// forbidden is the same for one that a plugin refuses.
func forbidden(why string) error { return apierrors.NewForbidden(deployments, "web", errors.New(why)) }

func TestMessage(t *testing.T) {
	replicas := field.NewPath("spec", "replicas")
	for name, tc := range map[string]struct {
		why  string
		err  error
		want string
	}{
		"one field": {
			"kind and name are in our own text", invalid(field.Invalid(replicas, -1, "must not be negative")),
			"spec.replicas: Invalid value: -1: must not be negative",
		},
		"several fields, one twice": {
			"a server may say it twice",
			invalid(field.Required(replicas, "how many?"), field.Forbidden(field.NewPath("spec"), "no"), field.Required(replicas, "how many?")),
			"spec.replicas: Required value: how many?, spec: Forbidden: no",
		},
		"a difference": {
			"the first line says it", invalid(field.Forbidden(field.NewPath("spec"), "spec is immutable\n  core.Spec{\n-  A: 1,\n+  A: 2,\n  }")),
			"spec: Forbidden: spec is immutable",
		},
		"a policy": {
			"its cause has no field", quoting(`deployments.apps "web" is forbidden: ask platform@example.com`, 422, metav1.StatusReasonInvalid, cause("", "")),
			`deployments.apps "web" is forbidden: ask platform@example.com`,
		},
		"a webhook's fields": {
			"it must be seen who refuses", quoting(`admission webhook "strict" denied the request: no`, 422, metav1.StatusReasonInvalid,
				cause(metav1.CauseTypeFieldValueInvalid, "spec")),
			`admission webhook "strict" denied the request: no`,
		},
		"no field of the schema": {
			"which other fault the server finds before, is chance", quoting(misfit+"errors:\n  .spec.b: expected string, got 1\n"+
				"  .spec.a: field not declared in schema", 500, ""),
			".spec.a: field not declared in schema",
		},
		"wrong types": {
			"the server finds them in any order", quoting(misfit+"errors:\n  .spec.b: expected string, got 1\n  .spec.a: expected map, got 1", 500, ""),
			".spec.a: expected map, got 1, .spec.b: expected string, got 1",
		},
		"a wrong type":      {"", quoting(misfit+".spec.b: expected string, got 1", 500, ""), ".spec.b: expected string, got 1"},
		"forbidden":         {"", forbidden("ask platform@example.com"), "ask platform@example.com"},
		"wrapped":           {"", fmt.Errorf("wrapped: %w", forbidden("no")), "no"},
		"of another object": {"", apierrors.NewForbidden(deployments, "db", errors.New("no")), `deployments.apps "db" is forbidden: no`},
		"conflict":          {"", apierrors.NewConflict(deployments, "web", errors.New("changed")), "changed"},
		"not found":         {"nothing would be left", apierrors.NewNotFound(deployments, "web"), `deployments.apps "web" not found`},
		"several lines": {
			"a condition is read in one", forbidden("\n[team] no label\n\n[image]\tno tag\u00a0"), "[team] no label [image] no tag",
		},
		"a quota": {
			"who else uses it is not this object's matter", forbidden("exceeded quota: pods, requested: cpu=1,pods=1, used: cpu=2,pods=5, limited: cpu=2,pods=5"),
			"exceeded quota: pods, requested: cpu=1,pods=1, limited: cpu=2,pods=5",
		},
		"no answer":      {"", errors.New("unknown namespace for the cache"), "unknown namespace for the cache"},
		"no connection":  {"a URL may hold a password", &url.Error{Op: "Get", URL: secret, Err: errors.New("refused")}, "refused"},
		"nothing":        {"", nil, ""},
		"says nothing":   {"", quoting("", 500, ""), ""},
		"no valid UTF-8": {"", forbidden("a\xffb"), "ab"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, answer.Message(tc.err, "web"), tc.why) })
	}
	require.Equal(t, "may not", answer.Message(apierrors.NewForbidden(deployments, "", errors.New("may not")), ""), "a list has no name")
}

// TestMessageIsTheSameEachTime: it goes into conditions, and a changed one is a write.
func TestMessageIsTheSameEachTime(t *testing.T) {
	for name, format := range map[string]struct{ text, once, again, want string }{
		"the time of a certificate": {
			"x509: certificate has expired or is not yet valid: current time %s is after",
			"2026-11-22T21:34:09Z", "2026-11-22T21:36:10Z", "current time … is after",
		},
		"a time as Go prints it": {"at %s: no", "2026-11-22 21:34:09.123 +0000 UTC m=+0.1", "2026-11-22 21:34:10 +0000 UTC m=+1", "at …: no"},
		"the ID of a request": {
			`expected response.uid="%s"`, "705ab4f5-6393-11e8-b7cc-42010a800002", "805ab4f5-6393-11e8-b7cc-42010a800003", `response.uid="…"`,
		},
		"an address": {`Invalid value: core.Spec{Grace:(*int64)(%s)}`, "0xc00e6d6c98", "0xc00e6d6ca8", "(*int64)(…)"},
		"a connection": {
			"read tcp %s->10.0.0.2:443: connection reset by peer", "10.0.0.1:40001", "10.0.0.1:40002", "read tcp …->10.0.0.2:443",
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := answer.Message(forbidden(fmt.Sprintf(format.text, format.once)), "web")
			require.Contains(t, first, format.want)
			require.Equal(t, first, answer.Message(forbidden(fmt.Sprintf(format.text, format.again)), "web"))
		})
	}
	reset := func(port int) error {
		return &net.OpError{
			Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port},
			Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6443}, Err: errors.New("connection reset by peer"),
		}
	}
	require.Equal(t, answer.Message(reset(40001), "web"), answer.Message(reset(40002), "web"))
	require.Equal(t, answer.Describe(reset(40001)), answer.Describe(reset(40002)), "of a Secret, too")
}

func TestLongMessagesAreCut(t *testing.T) {
	for name, unit := range map[string]string{"one byte": "x", "two": "ö", "four": "🎈"} {
		t.Run(name, func(t *testing.T) {
			for shift := range 4 {
				text := answer.Message(forbidden(strings.Repeat("x", shift)+strings.Repeat(unit, 2000)), "web")
				require.True(t, utf8.ValidString(text))
				require.LessOrEqual(t, len(text), 1024)
				require.Greater(t, len(text), 1000)
				require.True(t, strings.HasSuffix(text, unit+"…"))

				text = answer.Message(invalid(field.Invalid(field.NewPath("spec"), strings.Repeat("x", shift)+strings.Repeat(unit, 2000), "is immutable")), "web")
				require.True(t, utf8.ValidString(text))
				require.Regexp(t, `^spec: Invalid value: "x*`+unit+`+…`+unit+`+": is immutable$`, text)
				require.Less(t, len(text), 300)
			}
		})
	}
	require.Equal(t, "öö", answer.Cut("öö", 4))
	require.Equal(t, "ö…", answer.Cut("ööö", 5))
}

func TestExplain(t *testing.T) {
	faulty := invalid(field.Invalid(field.NewPath("data"), secret, "wrong"))
	require.Equal(t, `data: Invalid value: "`+secret+`": wrong`, answer.Explain(faulty, deployment, "web"))
	for name, kind := range map[string]schema.GroupKind{"a Secret": {Kind: "Secret"}, "not known": {}} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "data (FieldValueInvalid)", answer.Explain(faulty, kind, "web"))
			require.Equal(t, "the API server's message is not shown, as it can quote the object", answer.Explain(forbidden(secret), kind, "web"))
			require.Equal(t, "an error of type *errors.errorString, whose text is not shown, as it can quote the object",
				answer.Explain(errors.New(secret), kind, "web"))
		})
	}
	require.False(t, answer.IsSensitive(schema.GroupKind{Group: "example.com", Kind: "Secret"}), "another kind of that name")
}
