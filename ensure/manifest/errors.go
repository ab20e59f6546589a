package manifest

import (
	"strconv"
	"strings"
)

// An Error describes a mistake in a manifest, or in the result of an action, and its position.
type Error struct {
	// File is the manifest's name in the file system.
	File string
	// Line counts from 1, in the file as it is written; 0 means the whole file.
	Line int
	// Path is the place in the object, such as spec.template.spec.containers[0].image; empty if there
	// is no particular place.
	Path string
	// Problem describes the mistake. It quotes no value.
	Problem string

	cause error
}

// Error returns one line: file:line: path: problem.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString(e.File)
	if e.Line > 0 {
		text.WriteString(":" + strconv.Itoa(e.Line))
	}
	text.WriteString(": ")
	if e.Path != "" {
		text.WriteString(e.Path + ": ")
	}
	text.WriteString(e.Problem)
	return text.String()
}

// Unwrap returns the error of reading a file or of the scheme, or nil for all other errors.
func (e *Error) Unwrap() error { return e.cause }
