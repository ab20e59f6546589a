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

// A body is the body of a request or an answer. The object is kept as JSON, which can be read and compared.
type body struct {
	contentType string
	object      json.RawMessage
}

var inProtobuf = protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme)

// parseBody returns the body with these bytes, which are JSON, protobuf or YAML.
func parseBody(contentType string, data []byte) (body, error) {
	parsed := body{contentType: contentType}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return parsed, fmt.Errorf("cannot parse the content type %q: %w", contentType, err)
	}
	switch media {
	case runtime.ContentTypeProtobuf:
		var decoded runtime.Object
		if decoded, _, err = inProtobuf.Decode(data, nil, nil); err == nil {
			parsed.object, err = json.Marshal(decoded)
		}
	case runtime.ContentTypeJSON:
		parsed.object = bytes.TrimSpace(data)
	default:
		parsed.object, err = yaml.YAMLToJSON(data)
	}
	if err != nil {
		return parsed, fmt.Errorf("cannot parse a body of type %s: %w", media, err)
	}
	return parsed, nil
}

// parseAnswer is parseBody, and checks that bytes returns these bytes.
func parseAnswer(contentType string, data []byte) (body, error) {
	parsed, err := parseBody(contentType, data)
	if err != nil {
		return parsed, err
	}
	again, err := parsed.bytes()
	if err == nil && !bytes.Equal(again, data) {
		err = errors.New("an answer would not be replayed byte by byte")
	}
	return parsed, err
}

// bytes returns the bytes of an answer as the API server sends them.
func (b body) bytes() ([]byte, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, b.object); err != nil {
		return nil, fmt.Errorf("cannot read a body: %w", err)
	}
	if b.contentType != runtime.ContentTypeProtobuf {
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
