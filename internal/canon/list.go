package canon

import (
	"bytes"
	"encoding/base64"
	"reflect"
)

// pointerPlan reads what a pointer points to.
type pointerPlan struct{ elem plan }

func (p *pointerPlan) append(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	return p.elem.append(e, v.Elem())
}

func (p *pointerPlan) null(v reflect.Value) bool { return v.IsNil() || p.elem.null(v.Elem()) }

func (p *pointerPlan) satisfies(c *comparison, live, desired reflect.Value) bool {
	if !c.enter() {
		return false
	}
	defer c.leave()
	return !live.IsNil() && p.elem.satisfies(c, live.Elem(), desired.Elem())
}

// listPlan reads a slice or an array. What it means for two lists to agree
// depends on the field that holds them: see merge.go.
type listPlan struct {
	elem  plan
	slice bool
	merge mergeRule
}

func (p *listPlan) append(e *encoder, v reflect.Value) error {
	if p.null(v) {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	e.buf = append(e.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := p.elem.append(e, v.Index(i)); err != nil {
			return inItem(i, err)
		}
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (p *listPlan) null(v reflect.Value) bool { return p.slice && v.IsNil() }

func (p *listPlan) satisfies(c *comparison, live, desired reflect.Value) bool {
	if !c.enter() {
		return false
	}
	defer c.leave()
	return p.merge.satisfied(c, p.elem, live, desired)
}

// bytesPlan reads a []byte, which is base64 in JSON.
type bytesPlan struct{}

func (bytesPlan) append(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	e.buf = appendBase64(e.buf, v.Bytes())
	return nil
}

func (bytesPlan) null(v reflect.Value) bool { return v.IsNil() }

func (bytesPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return !live.IsNil() && bytes.Equal(live.Bytes(), desired.Bytes())
}

func appendBase64(dst, value []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	return append(dst, '"')
}
