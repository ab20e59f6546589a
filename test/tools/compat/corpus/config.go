//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func config() []Entry {
	return []Entry{
		{"core/v1/ConfigMap/plain", &corev1.ConfigMap{ObjectMeta: named("shop"), Data: map[string]string{
			"config.yaml": "listen: :8080\nregion: eu-central-1\nlog:\n  level: info\n", "greeting.txt": "Grüße aus Köln\n",
		}}},
		{"core/v1/ConfigMap/nasty-text", oddTextConfigMap()},
		{"core/v1/ConfigMap/nasty-keys", &corev1.ConfigMap{ObjectMeta: named("keys"), Data: map[string]string{
			"": "", "a.b": "1", "a": "2", "A": "3", "é": "4", "😀": "5", "\uffff": "6", "a\"b": "7", "a\x00b": "8", "~": "9", "10": "10", "9": "11",
		}}},
		{"core/v1/ConfigMap/binary", &corev1.ConfigMap{ObjectMeta: named("binary"), BinaryData: map[string][]byte{
			"nil": nil, "empty": {}, "zero": {0}, "bytes": []byte("\xff\xfe\xfd"), "text": []byte("text"),
		}}},
		{"core/v1/ConfigMap/empty-maps", &corev1.ConfigMap{
			ObjectMeta: named("empty"), Data: map[string]string{}, BinaryData: map[string][]byte{}, Immutable: new(false),
		}},
		{"core/v1/ConfigMap/large", &corev1.ConfigMap{ObjectMeta: named("large"), Data: map[string]string{
			"ascii": strings.Repeat("0123456789abcdef", 16<<10), "escapes": strings.Repeat("\t\u2028", 16<<10),
		}}},
		{"core/v1/Secret/string-data", &corev1.Secret{ObjectMeta: named("shop"), StringData: map[string]string{
			"password": "correct horse battery staple", "empty": "",
		}}},
		{"core/v1/Secret/data", &corev1.Secret{ObjectMeta: named("shop"), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{
			"password": []byte("correct horse battery staple"), "nil": nil, "empty": {}, "der": {0x30, 0x82, 0x00, 0xff},
		}}},
		{"core/v1/Secret/both", &corev1.Secret{
			ObjectMeta: named("shop"), Immutable: new(true), Data: map[string][]byte{"a": []byte("old"), "b": []byte("kept")},
			StringData: map[string]string{"a": "new", "c": "bad\xff"},
		}},
		{"core/v1/Secret/empty", &corev1.Secret{ObjectMeta: named("empty"), Data: map[string][]byte{}, StringData: map[string]string{}}},
		{"core/v1/Secret/tls", &corev1.Secret{ObjectMeta: named("tls"), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
			corev1.TLSCertKey: []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), corev1.TLSPrivateKeyKey: nil,
		}}},
	}
}

func oddTextConfigMap() *corev1.ConfigMap {
	var controls strings.Builder
	for r := range rune(0xa0) {
		controls.WriteRune(r)
	}
	return &corev1.ConfigMap{ObjectMeta: named("nasty"), Data: map[string]string{
		"crlf":         "first\r\nsecond\r\n",
		"controls":     controls.String(),
		"emoji":        "🚢 👩🏽‍🚀 🏴‍☠️",
		"noncharacter": "\ufdd0\ufffe\uffff\U0001ffff\U0010ffff",
		"separators":   "\u0085\u00a0\u2028\u2029\u200b\u202e\ufeff",
		"invalid":      "a\xffb\xc3(\xed\xa0\x80",
		"html":         "<script>&</script>",
		"quotes":       `"'\` + "`",
		"json":         `{"a": [1, 2.50, null]}`,
		"yaml":         "- a: &x 1\n- *x\n# no: comment\n",
		"looks-true":   "true", "looks-null": "null", "looks-number": "1e3", "looks-octal": "0o17", "looks-empty": "", "tilde": "~",
		"right-to-left": "שלום עולם", "combining": "e\u0301 é", "template": "{{ .Values.x }}", "trailing-space": "a  \n\t\n",
	}}
}

// controllerRevision has raw JSON that nobody brought in order.
func controllerRevision() *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: named("database-1"), Revision: 1<<63 - 1, Data: runtime.RawExtension{Raw: []byte(`{
		"spec": {"z": 1, "a": [1.0, 2.5, 1e3, 9007199254740993, null, {}], "m": {"b": null, "a": ""}, "n": -0.0, "t": "\u00e9<\ud83d\ude00"},
		"apiVersion": "v1"
	}`)}}
}

func metadata() []Entry {
	return []Entry{
		{"meta/ConfigMap/owners", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "owned", OwnerReferences: []metav1.OwnerReference{owner(), {
				APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "7c4c9a0e-0000-4000-8000-000000000000", Controller: new(false),
			}, {}},
			Finalizers: []string{"example.org/b", "example.org/a", "example.org/a"},
		}}},
		{"meta/ConfigMap/annotations", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "annotated", Annotations: map[string]string{
				"example.org/empty": "", "example.org/crlf": "a\r\nb", "Example.org/Case": "x", "example.org/😀": "😀",
				"spec-hash.trueup-go.github.io/shop-operator": "v1-0123456789abcdef0123456789abcdef",
			},
		}}},
		{"meta/ConfigMap/only-its-digest", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "stored", Annotations: map[string]string{"spec-hash.trueup-go.github.io/shop-operator": "v1-0123456789abcdef0123456789abcdef"},
		}}},
		{"meta/ConfigMap/as-the-server-has-it", servedConfigMap()},
		{"meta/ConfigMap/generate-name", &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-", Labels: map[string]string{}},
		}},
	}
}

func owner() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "apps.example.org/v1", Kind: "Application", Name: "shop", UID: "1f0c6b0e-3f0a-4a54-9c0b-0a5a3b1d9d11",
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

// servedConfigMap has fields that only the server sets.
func servedConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "served", UID: "1f0c6b0e-3f0a-4a54-9c0b-0a5a3b1d9d11", ResourceVersion: "1047", Generation: 3,
			CreationTimestamp: moment(), DeletionTimestamp: new(moment()), DeletionGracePeriodSeconds: new(int64(30)),
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "shop-operator", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: new(moment()),
				FieldsType: "FieldsV1", FieldsV1: fields(`{"f:data":{"f:a":{}}}`),
			}},
		},
		Data: map[string]string{"a": "b"},
	}
}

// fields calls a method: the struct's own field is deprecated.
func fields(text string) *metav1.FieldsV1 {
	var read metav1.FieldsV1
	_ = read.UnmarshalJSON([]byte(text)) // never fails
	return &read
}
