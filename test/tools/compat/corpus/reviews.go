//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	admissionv1 "k8s.io/api/admission/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// reviews are questions and answers: of these groups nothing is stored.
func reviews() []Entry {
	return []Entry{
		{"admission/v1/AdmissionReview/request", &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
			UID: "1f0c6b0e-3f0a-4a54-9c0b-0a5a3b1d9d11", Operation: admissionv1.Create, DryRun: new(false),
			UserInfo: authenticationv1.UserInfo{Username: "jürgen", Groups: []string{}, Extra: map[string]authenticationv1.ExtraValue{"a": nil}},
			Object:   runtime.RawExtension{Raw: []byte(`{"kind":"X","apiVersion":"v1","a":null,"n":1.0}`)}, OldObject: runtime.RawExtension{},
		}}},
		{"admission/v1/AdmissionReview/response", &admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{
			Allowed: false, Result: &metav1.Status{Code: 403}, Patch: []byte(`[{"op":"remove"}]`), Warnings: []string{},
			PatchType: new(admissionv1.PatchTypeJSONPatch), AuditAnnotations: map[string]string{"": ""},
		}}},
		{"apidiscovery/v2/APIGroupDiscovery/plain", &apidiscoveryv2.APIGroupDiscovery{
			ObjectMeta: global("apps"), Versions: []apidiscoveryv2.APIVersionDiscovery{{Version: "v1", Resources: []apidiscoveryv2.APIResourceDiscovery{}}},
		}},
		{"authentication/v1/TokenReview/plain", &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{
			Token: "a.b.c", Audiences: []string{},
		}}},
		{"authentication/v1/TokenRequest/plain", &authenticationv1.TokenRequest{ObjectMeta: named("shop"), Spec: authenticationv1.TokenRequestSpec{
			Audiences: []string{"vault"}, ExpirationSeconds: new(int64(-1 << 63)), BoundObjectRef: &authenticationv1.BoundObjectReference{},
		}}},
		{"authorization/v1/SubjectAccessReview/plain", &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "jürgen", Extra: map[string]authorizationv1.ExtraValue{"nil": nil, "empty": {}},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"},
		}}},
		{"authorization/v1/SelfSubjectRulesReview/plain", &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "shop"},
		}},
		{"authorization/v1/LocalSubjectAccessReview/plain", &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: named("who"), Spec: authorizationv1.SubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{}},
		}},
		{"imagepolicy/v1alpha1/ImageReview/plain", &imagepolicyv1alpha1.ImageReview{Spec: imagepolicyv1alpha1.ImageReviewSpec{
			Containers: []imagepolicyv1alpha1.ImageReviewContainerSpec{{Image: "a"}, {}}, Namespace: "shop",
		}}},
	}
}
