package canon

import (
	"errors"
	"fmt"
	"strconv"
)

// pathError says where in a value it could not be encoded.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string {
	path := e.path
	if path[0] == '.' {
		path = path[1:]
	}
	return fmt.Sprintf("%s: %v", path, e.err)
}

func (e *pathError) Unwrap() error { return e.err }

func inMember(name string, err error) error { return within("."+name, err) }

func inItem(i int, err error) error { return within("["+strconv.Itoa(i)+"]", err) }

func inKey(key string, err error) error { return within("["+key+"]", err) }

func within(step string, err error) error {
	if errors.Is(err, errTooDeep) {
		return err // a path of ten thousand steps helps nobody
	}
	if inner, ok := errors.AsType[*pathError](err); ok {
		return &pathError{step + inner.path, inner.err}
	}
	return &pathError{step, err}
}
