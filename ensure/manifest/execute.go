package manifest

import (
	"strconv"
	"strings"
	"text/template"
)

// These are the functions that parse adds to a manifest. A manifest that calls them only gets wrong lines
// in its errors.
const (
	textFunction  = "_text"
	turnFunction  = "_turn"
	yieldFunction = "_yield"
)

// maxSize is the largest request that an API server accepts.
const maxSize = 3 << 20

// maxTurns of all ranges together are more than any list has in an object that small.
const maxTurns = 1_000_000

const (
	errTooLarge = fault("yields more than 3 MiB")
	errTooLong  = fault("ranges over more than 1,000,000 items")
)

// An execution renders the text of a manifest. Each action leaves a token in the place of its value, so
// that values cannot change the structure.
type execution struct {
	*parsed

	out    strings.Builder
	size   int // of the written text and of the values
	turns  int // of ranges
	values []value
	spans  []span
}

// A value is the result of an action.
type value struct {
	place  place
	token  string
	text   string
	yaml   string // the text that replaces the token
	isText bool   // rather than a number or a boolean
}

// A span is where in the text something begins that stands together in a file.
type span struct {
	from  int
	place place
}

// execute makes the text of the manifest.
func (p *parsed) execute(data any) (*rendered, error) {
	x := &execution{parsed: p}
	if err := x.run(data); err != nil {
		return nil, x.notExecuted(err)
	}
	return &rendered{execution: x, text: x.out.String()}, nil
}

// run executes the templates. Code of data may panic: text/template recovers from functions and
// methods, but not from iterators.
func (x *execution) run(data any) (err error) {
	defer func() {
		if recover() != nil {
			err = fault("a method or function of the data panicked")
		}
	}()
	set, err := x.set.Clone()
	if err != nil {
		return err
	}
	return set.Funcs(x.functions()).Execute(x, data)
}

func (x *execution) functions() template.FuncMap {
	return template.FuncMap{textFunction: x.enterText, turnFunction: x.turn, yieldFunction: x.yield, "quote": quote}
}

// Write implements io.Writer.
func (x *execution) Write(text []byte) (int, error) {
	if err := x.grow(len(text)); err != nil {
		return 0, err
	}
	return x.out.Write(text)
}

func (x *execution) grow(size int) error {
	if x.size += size; x.size > maxSize {
		return errTooLarge
	}
	return nil
}

// enterText is called before each text.
func (x *execution) enterText(index int) (string, error) {
	_, err := x.enter(index)
	return "", err
}

// turn is called at the beginning of each iteration of a range. It limits the iterations, as data may
// contain a large number.
func (x *execution) turn(int) (string, error) {
	if x.turns++; x.turns > maxTurns {
		return "", errTooLong
	}
	return "", nil
}

func (x *execution) enter(index int) (place, error) {
	if index < 0 || index >= len(x.places) {
		return place{}, fault("calls a function that is reserved for this package")
	}
	entered := x.places[index]
	x.spans = append(x.spans, span{from: x.out.Len(), place: entered})
	return entered, nil
}

// yield is called with the result of an action, and returns a token in its place.
func (x *execution) yield(index int, v any) (string, error) {
	place, err := x.enter(index)
	if err != nil {
		return "", err
	}
	text, isText, err := scalar(v)
	if err != nil {
		return "", place.error("", err.Error())
	}
	token := x.token + strconv.Itoa(len(x.values)) + "z" // none is the beginning of another
	yielded := value{place: place, token: token, text: text, yaml: text, isText: isText}
	if _, ok := v.(quotedText); ok {
		yielded.yaml = escaped(text)
		token = `"` + token + `"`
	}
	if err := x.grow(len(yielded.yaml)); err != nil {
		return "", place.error("", err.Error())
	}
	x.values = append(x.values, yielded)
	return token, nil
}
