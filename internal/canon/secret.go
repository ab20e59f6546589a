package canon

import (
	"encoding/base64"
	"maps"
	"reflect"
)

// withSecretData returns the Secret behind v, or, if the Secret has stringData, a copy whose stringData
// is merged into data, as the API server does. The type is recognised by its name: canon does not
// import k8s.io/api.
func withSecretData(v reflect.Value) reflect.Value {
	secret := v.Elem()
	text := *secret.FieldByName("StringData").Addr().Interface().(*map[string]string)
	if len(text) == 0 {
		return v
	}
	merged := addressable(secret)
	data := maps.Clone(*secret.FieldByName("Data").Addr().Interface().(*map[string][]byte))
	if data == nil {
		data = make(map[string][]byte, len(text))
	}
	for key, value := range text {
		data[key] = []byte(valid(value))
	}
	merged.FieldByName("Data").Set(reflect.ValueOf(data))
	merged.FieldByName("StringData").SetZero()
	return merged.Addr()
}

// withSecretMembers is withSecretData for unstructured content. Malformed members are left for the
// server to refuse.
func withSecretMembers(members map[string]any) map[string]any {
	text, ok := members["stringData"].(map[string]any)
	if !ok || members["kind"] != "Secret" || members["apiVersion"] != "v1" {
		return members
	}
	old, ok := members["data"].(map[string]any)
	if !ok && members["data"] != nil {
		return members
	}
	data := maps.Clone(old)
	if data == nil {
		data = make(map[string]any, len(text))
	}
	for key, value := range text {
		value, ok := value.(string)
		if !ok {
			return members
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(valid(value)))
	}
	merged := maps.Clone(members)
	delete(merged, "stringData")
	if len(data) > 0 || old != nil {
		merged["data"] = data
	}
	return merged
}
