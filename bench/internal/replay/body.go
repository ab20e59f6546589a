package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// A Body is the body of a request or an answer. The object is kept as JSON, because that can be read: see [Body.Bytes].
type Body struct {
	ContentType string          `json:"contentType"`
	Object      json.RawMessage `json:"object"`
}

var inProtobuf = protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme)

// parseBody returns the body with these bytes in JSON, protobuf or YAML.
func parseBody(contentType string, data []byte) (Body, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return Body{}, fmt.Errorf("cannot parse the content type %q: %w", contentType, err)
	}
	if media != runtime.ContentTypeProtobuf {
		object, err := yaml.YAMLToJSON(data) // JSON is YAML
		if media == runtime.ContentTypeJSON {
			object = data
		}
		return Body{ContentType: contentType, Object: bytes.TrimSpace(object)}, err
	}
	decoded, _, err := inProtobuf.Decode(data, nil, nil)
	if err != nil {
		return Body{}, fmt.Errorf("cannot decode protobuf: %w", err)
	}
	object, err := json.Marshal(decoded)
	return Body{ContentType: contentType, Object: object}, err
}

// parseAnswer is parseBody, and checks that Bytes returns these bytes.
func parseAnswer(contentType string, data []byte) (Body, error) {
	body, err := parseBody(contentType, data)
	if err != nil {
		return body, err
	}
	again, err := body.Bytes()
	if err == nil && !bytes.Equal(again, data) {
		err = errors.New("an answer would not be replayed byte by byte")
	}
	return body, err
}

// Bytes returns the bytes of an answer as the API server has sent them.
func (b Body) Bytes() ([]byte, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, b.Object); err != nil {
		return nil, fmt.Errorf("cannot read a body: %w", err)
	}
	if b.ContentType != runtime.ContentTypeProtobuf {
		compact.WriteByte('\n')
		return compact.Bytes(), nil
	}
	var kind runtime.TypeMeta
	if err := json.Unmarshal(compact.Bytes(), &kind); err != nil {
		return nil, fmt.Errorf("cannot read the kind of a body: %w", err)
	}
	object, err := clientgoscheme.Scheme.New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	if err != nil {
		return nil, fmt.Errorf("cannot make an object: %w", err)
	}
	if err := json.Unmarshal(compact.Bytes(), object); err != nil {
		return nil, fmt.Errorf("cannot read a body: %w", err)
	}
	var encoded bytes.Buffer
	if err := inProtobuf.Encode(object, &encoded); err != nil {
		return nil, fmt.Errorf("cannot encode protobuf: %w", err)
	}
	return encoded.Bytes(), nil
}
