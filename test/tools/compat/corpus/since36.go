//go:build !before36

//nolint:lll // a case a line, as in the table of a test
package corpus

import admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

func since36() []Entry {
	return []Entry{
		{"admissionregistration/v1/MutatingAdmissionPolicy/plain", &admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: global("team"), Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{},
				Mutations: []admissionregistrationv1.Mutation{{
					PatchType: admissionregistrationv1.PatchTypeJSONPatch,
					JSONPatch: &admissionregistrationv1.JSONPatch{Expression: "[JSONPatch{op: \"add\", path: \"/metadata/labels\", value: {}}]"},
				}},
				Variables: []admissionregistrationv1.Variable{},
			},
		}},
		{"admissionregistration/v1/MutatingAdmissionPolicyBinding/plain", &admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: global("team"), Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
				PolicyName: "team", ParamRef: &admissionregistrationv1.ParamRef{},
			},
		}},
	}
}
