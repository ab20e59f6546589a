package manifest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// scalar returns the text of the result of an action, and whether it is text and not a number or a
// boolean. The JSON form of the value decides, so that a Quantity is text, and an IntOrString is
// either.
func scalar(v any) (text string, isText bool, err error) {
	if s, ok := plainString(v); ok {
		if !utf8.ValidString(s) {
			return "", false, fault("yields text that is not UTF-8")
		}
		return s, true, nil
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return "", false, fault(fmt.Sprintf("yields a %T, which cannot be encoded as JSON", v))
	}
	switch encoded[0] {
	case '"':
		err := json.Unmarshal(encoded, &text)
		return text, true, err
	case '{', '[':
		return "", false, fault(fmt.Sprintf("yields a %T, but must yield a string, a number or a boolean", v))
	case 'n':
		return "", false, fault("yields no value")
	default:
		return string(encoded), false, nil
	}
}

// plainString returns v, or the value to which v points, if that is a string without a JSON form of its
// own.
func plainString(v any) (string, bool) {
	value := reflect.ValueOf(v)
	for range 8 { // a pointer may point to itself
		if !value.IsValid() || hasOwnJSON(value) {
			return "", false
		}
		if value.Kind() != reflect.Pointer {
			break
		}
		value = value.Elem()
	}
	if value.Kind() != reflect.String || value.Type() == reflect.TypeFor[json.Number]() {
		return "", false
	}
	return value.String(), true
}

func hasOwnJSON(value reflect.Value) bool {
	_, json := reflect.TypeAssert[json.Marshaler](value)
	_, text := reflect.TypeAssert[encoding.TextMarshaler](value)
	return json || text
}

// A quotedText is a result of the function quote. Another function that formats it returns ordinary
// text.
type quotedText string

// quote is the function for free text: a scalar in double quotes that reads as v, whatever
// characters that has.
func quote(v any) (quotedText, error) {
	text, _, err := scalar(v)
	return quotedText(text), err
}

// escaped returns the text between the quotes of a double-quoted scalar that reads as text. The result
// is ASCII, except for characters above U+FFFF, for which YAML has no short escape.
func escaped(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case ' ' <= r && r <= '~' || r > 0xFFFF:
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u%04X`, r)
		}
	}
	return out.String()
}
