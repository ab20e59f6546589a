package canon

import (
	"encoding/base64"
)

// A pointerPlan reads the value behind a pointer.
type pointerPlan struct{ elem plan }

func (p *pointerPlan) append(e *encoder, v place) error { return p.appendTarget(e, v.target()) }

// appendTarget writes the value behind a pointer, or null if the pointer is nil.
func (p *pointerPlan) appendTarget(e *encoder, target place) error {
	if target.none() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	err := p.elem.append(e, target)
	e.leave()
	return err
}

func (p *pointerPlan) null(v place) bool { return p.nullTarget(v.target()) }

func (p *pointerPlan) nullTarget(target place) bool { return target.none() || p.elem.null(target) }

// A listPlan reads a slice or an array. Whether two lists agree depends on the field that holds them:
// see merge.go.
type listPlan struct {
	elem   plan
	size   uintptr // of an item
	length int     // of an array
	slice  bool
	merge  mergeRule
}

// items finds the items of the list at v.
func (p *listPlan) items(v place) items {
	if p.slice {
		return v.items(p.size)
	}
	return items{v, p.length, p.size}
}

func (p *listPlan) append(e *encoder, v place) error {
	if p.null(v) {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	return p.appendItems(e, p.items(v))
}

func (p *listPlan) appendItems(e *encoder, list items) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = append(e.buf, '[')
	for i := range list.length {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := p.elem.append(e, list.at(i)); err != nil {
			return inItem(i, err)
		}
	}
	e.buf = append(e.buf, ']')
	e.leave()
	return nil
}

func (p *listPlan) null(v place) bool { return p.slice && v.isNil() }

// bytesPlan reads a []byte, which is base64 in JSON.
type bytesPlan struct{}

func (bytesPlan) append(e *encoder, v place) error {
	if v.isNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	e.buf = appendBase64(e.buf, *as[[]byte](v))
	return nil
}

func (bytesPlan) null(v place) bool { return v.isNil() }

func appendBase64(dst, value []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	return append(dst, '"')
}
