package manifest

import (
	"strconv"
	"strings"
)

// An Error says what is wrong with a manifest, or with what its actions yield, and where.
type Error struct {
	// File is the manifest's name in the file system.
	File string
	// Line counts from 1, in the file as it is written; 0 if the whole file is meant.
	Line int
	// Path is the place in the object, such as spec.template.spec.containers[0].image;
	// empty if none in particular is meant.
	Path string
	// Problem is what is wrong. It quotes no value.
	Problem string

	cause error
}

// Error is one line: file:line: path: problem.
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

// Unwrap gives what reading a file failed with, or what the scheme said; nil for all else.
func (e *Error) Unwrap() error { return e.cause }
