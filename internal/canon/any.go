package canon

import (
	"encoding/json"
	"strconv"
)

// any writes a value whose type is known only at run time. The types that
// unstructured content is made of need no reflection.
func (e *encoder) any(v any) error {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case string:
		e.buf = appendString(e.buf, v)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case int64:
		e.buf = strconv.AppendInt(e.buf, v, 10)
	case float64:
		return e.number(appendFloat(e.buf, v, 64))
	case json.Number:
		return e.number(appendNumber(e.buf, v))
	case map[string]any:
		return e.anyMap(v)
	case []any:
		return e.anyList(v)
	default:
		return e.reflected(v)
	}
	return nil
}

func (e *encoder) number(buf []byte, err error) error {
	e.buf = buf
	return err
}

func (e *encoder) anyList(list []any) error {
	if list == nil {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	e.buf = append(e.buf, '[')
	for i, item := range list {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := e.any(item); err != nil {
			return inItem(i, err)
		}
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (e *encoder) anyMap(m map[string]any) error {
	if m == nil {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	order := e.begin()
	for key, v := range m {
		if err := e.anyMember(key, v); err != nil {
			return err
		}
	}
	return e.arrange(order)
}

func (e *encoder) anyMember(key string, v any) error {
	begun, from := e.beginMember(key)
	around, wasBuiltIn := e.around, e.isBuiltIn
	e.around, e.isBuiltIn = key, wasBuiltIn && !isFreeForm(around, key)
	err := e.any(v)
	e.around, e.isBuiltIn = around, wasBuiltIn
	if err != nil {
		return inKey(key, err)
	}
	if !dropsNull(e.isBuiltIn, key) || !e.truncateIf(begun.start, from, "null") {
		e.endMember(begun)
	}
	return nil
}

// isFreeForm reports whether a member of unstructured content of a built-in kind is a RawExtension, in which null means
// something: the data of a ControllerRevision, and parameters for a driver in the kinds of resource.k8s.io. around is the
// member around it, or the kind.
func isFreeForm(around, key string) bool {
	return key == "data" && around == "ControllerRevision" || key == "parameters" && around == "opaque"
}

// dropsNull reports whether null under a key of unstructured content has no meaning. Built-in kinds
// have no null. Older versions of k8s.io/apimachinery write an unset creationTimestamp as null, also in
// the metadata of a template.
func dropsNull(isBuiltIn bool, key string) bool { return isBuiltIn || key == "creationTimestamp" }
