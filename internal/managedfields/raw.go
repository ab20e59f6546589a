package managedfields

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Raw returns the JSON text of fields, nil if there is none or no readable one. Apimachinery has GetRawBytes for it since v0.36;
// Raw goes once that is the lowest supported version.
func Raw(fields *metav1.FieldsV1) []byte {
	if fields == nil {
		return nil
	}
	raw, err := fields.MarshalJSON()
	if err != nil || string(raw) == "null" {
		return nil
	}
	return raw
}

// NewFields returns the fields with the JSON text raw. Apimachinery has NewFieldsV1 for it since v0.36; NewFields goes once
// that is the lowest supported version.
func NewFields(raw string) *metav1.FieldsV1 {
	fields := &metav1.FieldsV1{}
	_ = fields.UnmarshalJSON([]byte(raw)) // fails only for a nil pointer
	return fields
}
